/** What would be in the way of a restore into the memory that a configuration names. Asks, and writes nothing. */

import type { Config } from "../../runtime/config/index.ts";
import { CairnError } from "../../runtime/contracts/errors.ts";
import { askPostgres } from "../doctor/context/postgres.ts";
import { readStore } from "../doctor/context/store.ts";
import { withNode } from "../service/connect.ts";
import { deployedRecord } from "../service/deployed-stack.ts";
import type { Deployment } from "../service/deployment.ts";
import { inspectNode } from "../service/stale-node-file.ts";
import { refuseUnusable } from "./move/preflight.ts";

export interface Obstacle {
  readonly message: string;
  /** What helps; null where the message says all. */
  readonly hint: string | null;
}

const PROBE_MS = 15_000;
const ANOTHER = "Name another database or directory in the configuration, or move this one away.";

/** An archive of a later schema cannot be restored. `version`: of the program that made it. */
export function ofSchema(
  made: { readonly schema_version: number; readonly version: string },
  newest: number | null,
): Obstacle | null {
  if (newest === null || made.schema_version <= newest) return null;
  return {
    message: `It was made by version ${made.version}, whose schema ${made.schema_version} is newer than ${newest} of this one.`,
    hint: `Restore it with version ${made.version} or a later one.`,
  };
}

export async function ofRunningNode(home: string): Promise<Obstacle | null> {
  const state = await inspectNode(home);
  if (state.state === "stopped") return null;
  const who =
    state.state === "running" ? `The node is running (process ${state.node.pid}).` : `A process uses ${home}.`;
  return { message: who, hint: "Stop it with `cairn stop`." };
}

/** Of a database server: away, unusable, in use, or not empty. Of an embedded store: whether there is one. `mayBeFull`: rows are no obstacle. */
export async function ofStore(
  config: Config,
  file: string,
  signal: AbortSignal,
  mayBeFull = false,
): Promise<Obstacle | null> {
  const { backend, postgres, embedded } = config.memory;
  if (backend === "embedded") {
    if (mayBeFull) return null;
    const { state } = await readStore(embedded.path);
    return state === "new" ? null : { message: `There is a store in ${embedded.path} already.`, hint: ANOTHER };
  }
  try {
    await refuseUnusable({ backend, config, file }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CairnError) return { message: error.message, hint: error.details.hint ?? null };
    throw error;
  }
  if (mayBeFull) return null;
  const url = postgres?.direct_url ?? postgres?.connection_string ?? "";
  return (await isFull(url, signal)) ? { message: "The database is not empty.", hint: ANOTHER } : null;
}

async function isFull(url: string, signal: AbortSignal): Promise<boolean> {
  const ask = <Row extends object>(sql: string) => askPostgres<Row>(url, sql, { probeMs: PROBE_MS, signal });
  const [schema] = await ask<{ readonly there: boolean }>("select to_regclass('messages') is not null as there");
  if (schema?.there !== true) return false;
  const [rows] = await ask<{ readonly full: boolean }>(
    `select exists (select 1 from conversations) or exists (select 1 from messages) or exists (select 1 from summaries)
       or exists (select 1 from inbox) as full`,
  );
  return rows?.full !== false;
}

/** Of the memory in use: a store that is there is opened for it, as for `memory stats`. */
export async function ofMemoryInUse(
  deployment: Deployment,
  { config, file }: { readonly config: Config; readonly file: string },
  { signal, node }: { readonly signal: AbortSignal; readonly node?: string | undefined },
): Promise<Obstacle | null> {
  const isDeployed = (await deployedRecord(deployment)) !== null;
  if (!isDeployed && config.memory.backend === "postgres") return ofStore(config, file, signal);
  if (!isDeployed && (await readStore(config.memory.embedded.path)).state === "new") return null;
  const { messages } = await withNode(
    deployment,
    signal,
    (client) => client.memoryTool<{ readonly messages: { readonly total: number } }>("memory_stats", {}, { signal }),
    { node },
  );
  if (messages.total === 0) return null;
  return { message: `The memory is not empty: ${messages.total} messages are in it.`, hint: ANOTHER };
}
