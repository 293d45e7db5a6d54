/**
 * Delivers captured sessions to a node, or keeps them until one is there (specification, "HTTP routes", capture, and
 * "Errors", rule 5). Only Node's own modules (but for a pinned certificate): hooks load it at every turn of a coding assistant.
 */

import type { CaptureBatch } from "../../contracts/capture.ts";
import { fetchFor } from "../fetch.ts";
import { partsOf } from "./parts.ts";
import { type Answer, type CaptureNode, postBatch } from "./post.ts";
import { Spool } from "./spool.ts";
import { type SpoolName, sessionTag } from "./spool-file.ts";
import type { CaptureClient, CaptureClientOptions, Delivery, ReplayReport, SendReport } from "./types.ts";

/** Specification, "Limits". */
const REPLAY_FILES = 50;
const MAX_SPOOL_BYTES = 256 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

export function createCaptureClient(options: CaptureClientOptions): CaptureClient {
  const node: CaptureNode = {
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    token: options.token,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    fetch: options.fetch ?? fetchFor(options.certificate),
  };
  const now = options.now ?? Date.now;
  const onProblem = options.onProblem ?? (() => undefined);
  const maxBytes = options.maxSpoolBytes ?? MAX_SPOOL_BYTES;
  const spool = new Spool({ directory: options.spoolDirectory, maxBytes, now, onProblem });
  /** One send or replay at a time, so that calls keep the order in which they were made. */
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  }

  /** The node's answer to a batch that is in no file, or in `from`. */
  async function recordOutcome(batch: CaptureBatch, answer: Answer, from?: SpoolName): Promise<void> {
    if (answer.kind === "stored" && from !== undefined) await spool.remove(from);
    if (answer.kind !== "refused") return;
    const { status, error } = answer;
    const file = await spool.bury(batch, { status, error, at: new Date(now()).toISOString() }, from);
    onProblem({ kind: "dead", file, status, error });
  }

  /**
   * Oldest first. Ends when the node is unavailable, or when two requests in a row fail; a batch that the node cannot take
   * holds up only its own session. Also returns which sessions still have files.
   */
  async function replayFiles(limit: number, signal?: AbortSignal) {
    const counts = { stored: 0, dead: 0 };
    const held = new Set<string>();
    let tries = 0;
    let unavailable: string | undefined;
    let reason: string | undefined;
    let wasAnswered = true;
    for (const name of await spool.waiting()) {
      if (held.has(name.session)) continue;
      if (unavailable !== undefined || tries >= limit) {
        held.add(name.session);
        continue;
      }
      const file = await spool.read(name);
      if (file === null) continue;
      tries += 1;
      const answer = await postBatch(node, file.batch, signal);
      await recordOutcome(file.batch, answer, name);
      if (answer.kind === "stored") counts.stored += 1;
      else if (answer.kind === "refused") counts.dead += 1;
      else {
        reason ??= answer.reason;
        held.add(name.session);
        if (answer.unavailable === true || (answer.unavailable === "unanswered" && !wasAnswered))
          unavailable = answer.reason;
      }
      wasAnswered = answer.kind !== "later" || answer.unavailable !== "unanswered";
    }
    return { ...counts, held, unavailable, reason };
  }

  async function reportOf(replayed: Awaited<ReturnType<typeof replayFiles>>): Promise<ReplayReport> {
    const { stored, dead, reason } = replayed;
    return { stored, dead, waiting: (await spool.waiting()).length, ...(reason === undefined ? {} : { reason }) };
  }

  async function send(batch: CaptureBatch, signal?: AbortSignal): Promise<SendReport> {
    const replayed = await replayFiles(REPLAY_FILES, signal);
    let blocked = replayed.unavailable;
    if (replayed.held.has(sessionTag(batch.session_key))) blocked ??= "earlier batches of the session wait";
    const deliveries: Delivery[] = [];
    for (const part of partsOf(batch)) {
      const answer: Answer =
        blocked === undefined
          ? await postBatch(node, part, signal)
          : { kind: "later", unavailable: true, reason: blocked };
      if (answer.kind === "later") {
        blocked ??= answer.reason;
        await spool.add(part);
        deliveries.push({ outcome: "spooled", reason: answer.reason });
        continue;
      }
      await recordOutcome(part, answer);
      const { kind, ...said } = answer;
      deliveries.push("result" in said ? { outcome: "stored", ...said } : { outcome: "dead", ...said });
    }
    return { deliveries, replay: await reportOf(replayed) };
  }

  return {
    send: (batch, { signal } = {}) => inTurn(() => send(batch, signal)),
    replay: ({ signal, limit = REPLAY_FILES } = {}) => inTurn(async () => reportOf(await replayFiles(limit, signal))),
    status: () => spool.status(),
    requeueDead: () => inTurn(() => spool.requeueDead()),
  };
}
