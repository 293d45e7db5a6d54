/** Checks before a target's own part: names, memory, deadlines, and addresses that mean something else in a container. */
import { WATCHDOG_MS } from "../../runtime/config/deadlines.ts";
import { type Config, isLoopback } from "../../runtime/config/index.ts";
import { formatDuration } from "../../runtime/config/schema/scalars.ts";
import { type TreeMap, valueAt } from "../../runtime/config/tree.ts";
import { DATABASE_NAME, LONGEST_WORKLOAD, stackNames } from "./names.ts";
import { type NodeSettings, nodePath } from "./node.ts";
import type { Problems } from "./problems.ts";
import { POSTGRES } from "./types.ts";

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Between the drain deadline and the kill, where deployment.stop_timeout is not set. */
const KILL_AFTER_DRAIN_MS = 30_000;

/** The schema refuses such names already; what becomes part of commands is checked twice. */
export function checkNames(config: Config, nodes: readonly NodeSettings[], problems: Problems): void {
  const { name: stack, datahub } = config.deployment;
  if (!LABEL.test(stack)) problems.refuse("deployment.name", `${JSON.stringify(stack)} is no name for a stack`);
  const seen = new Set<string>();
  for (const [index, { name }] of nodes.entries()) {
    const path = nodePath(config, index, "name");
    if (!LABEL.test(name)) problems.refuse(path, `${JSON.stringify(name)} is no name for a node`);
    if (seen.has(name)) problems.refuse(path, `${name} is the name of another node, too`);
    seen.add(name);
    if (name === DATABASE_NAME && datahub.postgres)
      problems.refuse(path, `${name} is the database's name: choose another`);
    const workload = stackNames(stack).node(name);
    if (workload.length > LONGEST_WORKLOAD) {
      problems.refuse(
        path,
        `${workload} has ${workload.length} characters, and ${LONGEST_WORKLOAD} are allowed: shorten it or deployment.name`,
      );
    }
  }
  for (const [agent, { node }] of Object.entries(config.agents)) {
    if (node === undefined || seen.has(node)) continue;
    problems.warn(
      `agents.${agent}.node`,
      `no node is called ${node} (there is ${[...seen].join(", ")}): it will run nowhere`,
    );
  }
}

/** Seconds, rounded up. */
export function stopTimeout({ runtime, deployment }: Config, problems: Problems): number {
  const chosen = deployment.stop_timeout ?? runtime.drain_deadline + KILL_AFTER_DRAIN_MS;
  const least = runtime.drain_deadline + WATCHDOG_MS;
  if (chosen <= least) {
    problems.refuse(
      "deployment.stop_timeout",
      `must be more than ${formatDuration(least)}: runtime.drain_deadline and 10s`,
    );
  }
  return Math.ceil(chosen / 1_000);
}

/** A database that is deployed is the one that is used. */
export function checkMemory(config: Config, tree: TreeMap, problems: Problems): void {
  if (!config.deployment.datahub.postgres) return;
  if (config.memory.backend === "embedded") {
    problems.refuse(
      "memory.embedded",
      "a PostgreSQL is deployed that nothing would use: remove memory.embedded, or switch deployment.datahub.postgres off",
    );
    return;
  }
  const own = [
    ["connection_string", `\${${POSTGRES.variable}}`],
    ["direct_url", "${SERVICE_PG_DIRECT_URL}"],
  ] as const;
  for (const [key, usual] of own) {
    const written = valueAt(tree, ["memory", "postgres", key]);
    if (written === undefined || written === null || written === usual) continue;
    problems.refuse(
      `memory.postgres.${key}`,
      "names a server of its own beside the one that is deployed: remove it, or switch deployment.datahub.postgres off",
    );
  }
}

/** Loopback is another machine inside a container. */
export function warnOfLoopback(config: Config, problems: Problems): void {
  const { memory, providers, deployment } = config;
  const addresses: [string, string | undefined][] = Object.entries(providers).map(([id, { base_url }]) => [
    `providers.${id}.base_url`,
    base_url,
  ]);
  addresses.push(["memory.embedding.base_url", memory.embedding.base_url]);
  addresses.push(["memory.summarizer.base_url", memory.summarizer.base_url]);
  if (!deployment.datahub.postgres) {
    addresses.push(["memory.postgres.connection_string", memory.postgres?.connection_string]);
  }
  for (const [path, address] of addresses) {
    const host = address === undefined ? undefined : URL.parse(address)?.hostname;
    if (host === undefined || !isLoopback(host)) continue;
    problems.warn(path, `${host} is the container itself there: give an address that the nodes reach`);
  }
}
