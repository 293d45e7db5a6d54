/** What a node has to show before an update counts: the version, readiness (which has the schema in it), the quick self-test, a turn. */

import { randomUUID } from "node:crypto";
import type { Client } from "../../runtime/client/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { selfTest } from "../self-test/self-test.ts";

/** Milliseconds of one step of the self-test. */
const STEP_MS = 30_000;

/** RUNTIME_START_FAILED that says what is missing. `agent` gets no message. `version`: null where nothing tells it before. */
export async function gate(client: Client, agent: string, version: string | null, signal: AbortSignal): Promise<void> {
  const marker = `zx${randomUUID().replaceAll("-", "").slice(0, 14)}`;
  const test = await selfTest({ client, agent, quick: true, marker, timeoutMs: STEP_MS, signal });
  const failed = test.steps.filter(({ status }) => status === "fail").map(({ name, message }) => `${name}: ${message}`);
  const health = await client.health({ signal, timeoutMs: STEP_MS }).catch(() => null);
  if (health !== null && version !== null && health.version !== version) {
    failed.unshift(`it reports version ${health.version}, and not ${version}`);
  }
  // A node that has just started may host no agent: others have them all.
  const turn = await client.testTurn({ signal, timeoutMs: STEP_MS }).then(
    () => null,
    (error: unknown) => error,
  );
  signal.throwIfAborted();
  // A version before this one has no such turn.
  if (turn !== null && codeOf(turn) !== "RUNTIME_NOT_FOUND") {
    failed.push(`turn: ${turn instanceof Error ? turn.message : String(turn)}`);
  }
  if (failed.length > 0) {
    throw new RuntimeError("RUNTIME_START_FAILED", `The node did not pass the gate: ${failed.join("; ")}.`);
  }
}
