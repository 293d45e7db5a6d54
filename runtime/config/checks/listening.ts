/** Whether what the node serves can be read on its way: TLS, where it listens, and what was promised of it. */
import { isLoopback, parseListen } from "../listen.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

const CERTIFICATE = "give runtime.tls a cert and a key";

export function checkListening({ config, env }: CheckInput): Findings {
  const found = createCollector();
  const { runtime, mesh, deployment } = config;
  if (!runtime) return found;
  const { tls, listen } = runtime;
  if (typeof tls === "object") return found;
  if (mesh?.enabled) {
    found.refuse(
      ["mesh", "enabled"],
      "tls-missing",
      "nodes of a mesh speak TLS, and there is no certificate; this version has no mesh",
      "write off",
    );
  }
  const host = parseListen(listen)?.host ?? "";
  // The nodes of a deployment listen on every address of their container, whatever is written here.
  const deployed = deployment !== undefined && deployment.target !== "manual";
  const beyond = !isLoopback(host);
  if (tls === "auto") {
    const what = "self-signed certificates are not in this version";
    if (beyond || deployed)
      found.refuse(["runtime", "tls"], "tls-missing", `${what}: this would be plain HTTP`, CERTIFICATE);
    else found.warn(["runtime", "tls"], "plain-http", `${what}: this is plain HTTP, on loopback only`, "write off");
    return found;
  }
  const readable = "without TLS: tokens and conversations can be read on the way";
  if (deployment?.target === "kubernetes" && deployment.kubernetes.service_type !== "ClusterIP") {
    found.warn(
      ["deployment", "kubernetes", "service_type"],
      "plain-http",
      `reachable from outside ${readable}`,
      CERTIFICATE,
    );
  }
  // `infra up` publishes a container's port on loopback unless there is a certificate.
  if (beyond && env["SERVICE_CONTAINER"] !== "1") {
    found.warn(
      ["runtime", "listen"],
      "plain-http",
      `${listen} is reachable from other machines ${readable}`,
      CERTIFICATE,
    );
  }
  return found;
}
