/** Whether what goes between a node and a PostgreSQL of the user's own can be read on its way. */
import { isLoopback } from "../listen.ts";
import type { Environment } from "../references.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

const VARIABLES = { connection_string: "SERVICE_PG_URL", direct_url: "SERVICE_PG_DIRECT_URL" } as const;
const ON = new Set(["true", "1"]);

export function checkDatabase({ config, env }: CheckInput): Findings {
  const found = createCollector();
  const { memory, deployment } = config;
  // `infra up` gives the nodes of a stack the address of its own PostgreSQL, whose certificate they check.
  const ofStack = deployment !== undefined && deployment.target !== "manual" && deployment.datahub.postgres;
  if (memory?.postgres === undefined || ofStack) return found;
  for (const key of ["connection_string", "direct_url"] as const) {
    const host = readableHost(memory.postgres[key], env);
    if (host === null) continue;
    found.warn(
      ["memory", "postgres", key],
      "plain-database",
      `${host} is reached without TLS: the memory and the database's password can be read on the way`,
      `end the address with ?sslmode=verify-full (${VARIABLES[key]}); &sslrootcert=PATH names an authority of your own`,
    );
  }
  return found;
}

/** The host of an address under which the driver speaks no TLS, if it is another machine's; else null. */
function readableHost(address: string | undefined, env: Environment): string | null {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || !url.protocol.startsWith("postgres")) return null;
  const asked = url.searchParams;
  const host = asked.get("host") ?? decodeURIComponent(url.hostname);
  // A path is that of a socket.
  if (host === "" || host.startsWith("/") || isLoopback(host)) return null;
  return hasTls(asked, env) ? null : host;
}

/** As the driver reads an address: every mode but `disable` is TLS or no connection at all. */
function hasTls(asked: URLSearchParams, env: Environment): boolean {
  const mode = asked.get("sslmode");
  if (mode !== null && mode !== "") return mode !== "disable";
  if (asked.has("sslrootcert") || asked.has("sslcert") || asked.has("sslkey")) return true;
  if (asked.get("sslnegotiation") === "direct" || ON.has(asked.get("ssl") ?? "")) return true;
  return asked.get("ssl") === null && (env["PGSSLMODE"] ?? "disable") !== "disable";
}
