/** Whether what the node serves can be read on its way: TLS, where it listens, and what was promised of it. */
import { isLoopback, parseListen } from "../listen.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

const CERTIFICATE = "set runtime.tls to auto, or give it a cert and a key";

export function checkListening({ config, env }: CheckInput): Findings {
  const found = createCollector();
  const { runtime, mesh, deployment } = config;
  if (!runtime) return found;
  // Left out it is `auto` where the node is in a mesh.
  const { tls = mesh?.enabled ? "auto" : "off", listen } = runtime;
  // Of deployed nodes the plan knows more, and says it itself; on one network others find it by mDNS.
  const isNameless = mesh?.enabled && mesh.advertise === undefined && !mesh.mdns;
  if (tls !== "off" && isNameless && deployment?.target === "manual") {
    found.warn(
      ["mesh", "advertise"],
      "address-missing",
      "other nodes cannot reach this one: it names them no address",
      "write the address that leads here, such as node-2.example.org:7433",
    );
  }
  if (tls !== "off") return found;
  if (mesh?.enabled) {
    found.refuse(
      ["mesh", "enabled"],
      "tls-missing",
      "nodes of a mesh speak TLS, and runtime.tls is off",
      "leave runtime.tls out, or write auto: the node then makes a certificate itself",
    );
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
  // `infra up` publishes a container's port on loopback unless the node serves TLS.
  const beyond = !isLoopback(parseListen(listen)?.host ?? "");
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
