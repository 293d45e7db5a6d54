/**
 * The database of a deployed stack as its nodes see it: it lies in their network or in their volumes, so that a look from this
 * machine would say nothing of it.
 */

import type { Config } from "../../../runtime/config/index.ts";
import type { DatabaseSnapshot } from "./database.ts";
import type { NodeSnapshot } from "./node.ts";

type Facts = Readonly<Record<string, unknown>>;

/** Pure. A node of an earlier version reports less. */
export function readThroughNodes(config: Config, { health, reason }: NodeSnapshot): DatabaseSnapshot {
  const without = (why: string, ...see: string[]): DatabaseSnapshot => ({
    backend: "stack",
    server: null,
    connections: null,
    reason: why,
    see,
  });
  if (health === null) return without(`${reason}.`, "deployment.node");
  const { memory } = health;
  if (memory["reachable"] === false) return without("The node cannot reach its database.", "database.reachable");
  if (config.memory.backend === "embedded") return without("The store is embedded: there is no server.");
  const server = recordOf(memory["server"]);
  const [extensions, connections, clock] = ["extensions", "connections", "clock"].map((key) => recordOf(server?.[key]));
  const version = memory["version"];
  if (typeof version !== "string" || !extensions || !clock) {
    return without(`The node, version ${health.version}, does not report it.`);
  }
  return {
    backend: "stack",
    server: {
      number: numberOf(version),
      version,
      vector: textOf(extensions["vector"]),
      trgm: textOf(extensions["pg_trgm"]),
      // The nodes have made what was missing, or do not run.
      forbidden: [],
      aheadMs: Number(clock["ahead_ms"]),
      uncertainMs: Number(clock["uncertain_ms"]),
    },
    connections: connections ? { used: Number(connections["used"]), allowed: Number(connections["allowed"]) } : null,
    reason: "",
    see: [],
  };
}

/** `17.10` as the server itself counts: 170010. */
function numberOf(version: string): number {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major * 10_000 + (Number.isNaN(minor) ? 0 : minor);
}

function recordOf(value: unknown): Facts | null {
  return typeof value === "object" && value !== null ? { ...value } : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
