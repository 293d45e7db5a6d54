/** What would make a move fail later is said before anything is read or written: a server that is away, too old or forbids. */

import type { Config } from "../../../runtime/config/index.ts";
import { MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { Outcome } from "../../doctor/checks/check.ts";
import { ofExtensions } from "../../doctor/checks/database/extensions.ts";
import { ofVersion } from "../../doctor/checks/database/version.ts";
import { readDatabase } from "../../doctor/context/database.ts";
import { askPostgres } from "../../doctor/context/postgres.ts";
import { readStore } from "../../doctor/context/store.ts";
import type { Deployment } from "../../service/deployment.ts";
import { until } from "../../service/node-process.ts";
import { inspectNode } from "../../service/stale-node-file.ts";
import { unknownHolder } from "../../service/stop-node.ts";
import type { Side } from "./plan.ts";

const PROBE_MS = 15_000;
const ENDING_MS = 10_000;
/** Connections have this name in runtime/plugins/memory/postgres/settings.ts. */
const CONNECTED = `select count(*)::int as nodes from pg_stat_activity
  where datname = current_database() and application_name = 'cairn'`;
/** The short-lived node of a command that was killed ends its work first. */
const BUSY_MS = 120_000;

/** RUNTIME_CONFLICT while a node runs: what is said during a move would stay in the store that is left. */
export async function refuseNode({ home }: Deployment, signal: AbortSignal, onWait: () => void): Promise<void> {
  const state = await inspectNode(home);
  if (state.state === "running") {
    throw new RuntimeError("RUNTIME_CONFLICT", `The node is running (process ${state.node.pid}).`, {
      hint: "Stop it with `cairn stop`, move the memory, and start it again.",
    });
  }
  if (state.state === "stopped") return;
  onWait();
  const free = async (): Promise<boolean> => (await inspectNode(home)).state === "stopped";
  if (!(await until(free, { deadlineMs: BUSY_MS, signal }))) throw unknownHolder(home);
}

/** MEMORY_UNAVAILABLE, MEMORY_SCHEMA_MISMATCH or RUNTIME_NOT_FOUND: this side cannot be used. The server's tables are not looked at. */
export async function refuseUnusable({ backend, config }: Side, signal: AbortSignal): Promise<void> {
  if (backend === "embedded") return;
  const snapshot = await readDatabase(config, { probeMs: PROBE_MS, signal });
  if (snapshot.backend !== "postgres") return;
  if (snapshot.server === null) {
    throw new MemoryError("MEMORY_UNAVAILABLE", `The PostgreSQL server cannot be used: ${snapshot.reason}.`, {
      hint: `Nothing was changed. ${snapshot.fix}`,
    });
  }
  for (const outcome of [ofVersion(snapshot.server), ofExtensions(snapshot.server)]) refuseFinding(outcome);
  await refuseOtherNodes(config, signal);
}

/** Of another home on the same database: what is said there meanwhile would be in neither. A node that was killed is gone in a moment. */
async function refuseOtherNodes({ memory: { postgres } }: Config, signal: AbortSignal): Promise<void> {
  if (postgres === undefined) return;
  const url = postgres.direct_url ?? postgres.connection_string;
  const unused = async (): Promise<boolean> => {
    const [row] = await askPostgres<{ readonly nodes: number }>(url, CONNECTED, { probeMs: PROBE_MS, signal });
    return row?.nodes === 0;
  };
  if (await until(unused, { deadlineMs: ENDING_MS, signal })) return;
  throw new RuntimeError("RUNTIME_CONFLICT", "Another node is connected to that database.", {
    hint: "Nothing was changed. Stop it as well: what is said there meanwhile would not be moved.",
  });
}

function refuseFinding(outcome: Outcome): void {
  if (outcome.status !== "fail") return;
  throw new MemoryError("MEMORY_SCHEMA_MISMATCH", outcome.message, { hint: `Nothing was changed. ${outcome.fix}` });
}

/** Whether there is anything to be read: an embedded store that was never made is none. */
export async function hasStore(side: Side): Promise<boolean> {
  return side.backend === "postgres" || (await readStore(side.config.memory.embedded.path)).state !== "new";
}
