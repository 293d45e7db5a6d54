/** Whether what the node serves can be read on its way: TLS, where it listens, and what was promised of it. */
import { isLoopback, parseListen } from "../listen.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

/** No TLS where TLS was promised. */
export const TLS_MISSING = "tls-missing";
/** Nothing was promised, and tokens and conversations cross a network readable. */
export const PLAIN_HTTP = "plain-http";

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
      "nodes of a mesh speak TLS, and there is no certificate; this version has no mesh",
      "write off",
      TLS_MISSING,
    );
  }
  const host = parseListen(listen)?.host ?? "";
  // The nodes of a deployment listen on every address of their container, whatever is written here.
  const deployed = deployment !== undefined && deployment.target !== "manual";
  const beyond = !isLoopback(host);
  if (tls === "auto") {
    const what = "self-signed certificates are not in this version";
    if (beyond || deployed)
      found.refuse(["runtime", "tls"], `${what}: this would be plain HTTP`, CERTIFICATE, TLS_MISSING);
    else found.warn(["runtime", "tls"], `${what}: this is plain HTTP, on loopback only`, "write off", PLAIN_HTTP);
    return found;
  }
  const readable = "without TLS: tokens and conversations can be read on the way";
  if (deployment?.target === "kubernetes" && deployment.kubernetes.service_type !== "ClusterIP") {
    found.warn(
      ["deployment", "kubernetes", "service_type"],
      `reachable from outside ${readable}`,
      CERTIFICATE,
      PLAIN_HTTP,
    );
  }
  // `infra up` publishes a container's port on loopback unless there is a certificate.
  if (beyond && env["SERVICE_CONTAINER"] !== "1") {
    found.warn(
      ["runtime", "listen"],
      `${listen} is reachable from other machines ${readable}`,
      CERTIFICATE,
      PLAIN_HTTP,
    );
  }
  return found;
}
