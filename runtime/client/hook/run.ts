/** What happens when a harness calls: the session that it names is captured, and what earlier calls could not send is sent. */

import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { codeOf } from "../../contracts/system-errors.ts";
import { HARNESSES, type Harness } from "../../domain/harnesses/event.ts";
import { createCaptureClient } from "../capture/client.ts";
import type { CaptureClient, SpoolProblem } from "../capture/types.ts";
import { captureDatabase } from "./capture-database.ts";
import { captureFile } from "./capture-file.ts";
import { Cursors } from "./cursors.ts";
import { codexSessionFile, type Machine, openCodeDatabases } from "./find-sessions.ts";
import { createHookLog, type HookLog } from "./log.ts";
import { capturePaths, nodeAddress, readCaptureSettings } from "./settings.ts";

export interface HookCall {
  readonly harness: string;
  /** Cairn's home directory. */
  readonly home: string;
  /** What the harness wrote to standard input: JSON. */
  readonly payload: string;
  readonly machine: Machine;
  /** Ends what takes too long; what is left is captured by the next call. */
  readonly signal: AbortSignal;
}

/** One request; the hook runs in the background, so the harness does not wait for it. */
const TIMEOUT_MS = 10_000;
/** Sessions whose last lines were not reported, as their program was killed: so many are checked when another starts. */
const CATCH_UP = 50;

/** Never rejects: whatever goes wrong is written to the hook's log. */
export async function runHook(call: HookCall): Promise<void> {
  const paths = capturePaths(call.home);
  const log = createHookLog(paths.log, () => new Date());
  try {
    const settings = await readCaptureSettings(call.home);
    if (settings === null) return await log.write(`${call.harness}: not installed (run \`cairn capture install\`)`);
    const { harness } = call;
    if (!isHarness(harness)) return await log.write(`unknown harness ${harness.slice(0, 50)}`);
    const client = createCaptureClient({
      ...(await nodeAddress(call.home, settings)),
      token: settings.token,
      spoolDirectory: paths.spool,
      timeoutMs: TIMEOUT_MS,
      onProblem: (problem) => void log.write(`${harness}: ${describeProblem(problem)}`),
    });
    const reporting = reportingClient(client, (words) => log.write(`${harness}: ${words}; they are in ${paths.spool}`));
    await capture({ ...call, harness }, { client: reporting, cursors: new Cursors(paths.cursors), log });
  } catch (error) {
    await log.write(`${call.harness}: ${describe(error)}`);
  }
}

/** Says once why batches wait. */
function reportingClient(client: CaptureClient, notify: (words: string) => Promise<void>): Pick<CaptureClient, "send"> {
  let isReported = false;
  return {
    async send(batch, options) {
      const report = await client.send(batch, options);
      const spooled = report.deliveries.find((delivery) => delivery.outcome === "spooled");
      if (spooled !== undefined && !isReported) {
        isReported = true;
        await notify(`${report.replay.waiting} batches wait for the node (${spooled.reason})`);
      }
      return report;
    },
  };
}

interface Tools {
  readonly client: Pick<CaptureClient, "send">;
  readonly cursors: Cursors;
  readonly log: HookLog;
}

async function capture(call: HookCall & { readonly harness: Harness }, tools: Tools): Promise<void> {
  const { harness, signal, machine } = call;
  const payload = parsePayload(call.payload);
  const event = text(payload["hook_event_name"]);
  if (harness === "opencode") {
    const session = text(payload["session_id"]);
    const given = text(payload["database"]);
    const databases = isAbsolute(given) ? [given] : await openCodeDatabases(machine);
    for (const path of databases) {
      if ((await captureDatabase({ path, session, ...tools, signal })) !== null) return;
    }
    return tools.log.write(`opencode: no database has the session ${session.slice(0, 50)}`);
  }
  const named = [text(payload["transcript_path"]), text(payload["agent_transcript_path"])].filter(isAbsolute);
  const found = harness === "codex" ? await codexSessionFile(text(payload["session_id"]), machine) : undefined;
  const files = new Set(named.length > 0 || found === undefined ? named : [found]);
  const finalize = event === "SessionEnd";
  for (const path of files) await captureIfThere({ harness, path, ...tools, finalize, signal }, tools.log);
  if (event === "SessionStart") await catchUp(harness, files, tools, signal);
}

/** A session that has just begun has no file yet. */
async function captureIfThere(work: Parameters<typeof captureFile>[0], log: HookLog): Promise<void> {
  try {
    await captureFile(work);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    await log.write(`${work.harness}: ${work.path}: ${describe(error)}`);
  }
}

/** What was written after the last call of a session that was killed or interrupted. */
async function catchUp(
  harness: "claude-code" | "codex",
  seen: ReadonlySet<string>,
  tools: Tools,
  signal: AbortSignal,
): Promise<void> {
  const behind: string[] = [];
  for (const cursor of await tools.cursors.all()) {
    if (cursor.kind !== "file" || seen.has(cursor.path) || !belongsTo(harness, cursor.path)) continue;
    const size = await stat(cursor.path).then(
      (found) => found.size,
      () => 0,
    );
    if (size > cursor.offset) behind.push(cursor.path);
  }
  for (const path of behind.slice(0, CATCH_UP)) {
    if (signal.aborted) return;
    await captureIfThere({ harness, path, ...tools, signal }, tools.log);
  }
}

function belongsTo(harness: "claude-code" | "codex", path: string): boolean {
  return /\/rollout-[^/]*\.jsonl$/.test(path) === (harness === "codex");
}

function parsePayload(payload: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== "object" || value === null) throw new Error("the harness sent no object");
  // An object's members are unknown until they are checked.
  return value as Readonly<Record<string, unknown>>;
}

export function describeProblem(problem: SpoolProblem): string {
  switch (problem.kind) {
    case "dead":
      return `the node refused a batch with ${problem.status} (${problem.error.message}); it is kept in ${problem.file}`;
    case "bad-file":
      return `${problem.file} was set aside: it ${problem.reason}`;
    case "nearly-full":
      return `the spool has ${problem.bytes} of ${problem.maxBytes} bytes`;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isHarness(name: string): name is Harness {
  return HARNESSES.some((harness) => harness === name);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
