import type { EmbeddingService } from "../../contracts/embedding.ts";
import { CairnError, type ErrorCode } from "../../contracts/errors.ts";
import type { Clock } from "../../contracts/ports.ts";
import { meanPooled, type Vector } from "../../domain/embedding-vector.ts";
import { CHUNK_BYTES, chunksOf } from "../../domain/text-chunks.ts";
import { EncoderUnavailableError, SerialQueue } from "./serial-queue.ts";
import type { Claimed } from "./work.ts";

/**
 * From rows to vectors, with retries. An encoder that fails is sent a harmless text: when it answers that, one of the rows is the cause
 * and is found by halving; when it does not, it is unavailable, and no row counts as failed.
 */

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface EncodeDeps {
  readonly service: EmbeddingService;
  /** Takes the service's own secrets out of a text, before it is cut into parts: half of a secret is not found. */
  readonly redact: (text: string) => string;
  /** Texts of one request. */
  readonly batch: number;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  /** Called after each request that was answered, with how long that took. */
  readonly onAnswer?: (tookMs: number) => void;
  readonly clock: Pick<Clock, "monotonic">;
  /** Shared by all requests to this encoder at the same time. */
  readonly serialQueue: SerialQueue;
}

/** Recorded for a row without any text: no retry can change that. */
export const NOTHING_TO_EMBED = "There is nothing in it to embed.";

export type Outcome =
  | { readonly row: Claimed; readonly vector: Vector }
  /** `final`: no further attempt can go otherwise. */
  | { readonly row: Claimed; readonly error: string; readonly final: boolean };

/** Milliseconds before the second, third and fourth request (specification, "Memory-quality pipeline"). */
export const RETRY_PAUSES_MS = [5_000, 10_000, 15_000] as const;
/** A server that asks for a longer pause counts as unavailable. */
const LONGEST_PAUSE_MS = 60_000;
/** What every encoder can read. */
const HARMLESS = "ok";

/** What one text alone may bring about; the other errors are the encoder's. */
const MAY_BE_THE_TEXT: ReadonlySet<ErrorCode> = new Set([
  "PROVIDER_BAD_RESPONSE",
  "PROVIDER_SERVER_ERROR",
  "PROVIDER_REJECTED_REQUEST",
  "PROVIDER_CONTEXT_TOO_LONG",
  "PROVIDER_TIMEOUT",
]);

interface Prepared {
  readonly row: Claimed;
  readonly chunks: readonly string[];
}

/** Outcomes of all rows, as they come. Rejects with EncoderUnavailableError, or with the signal's reason. */
export async function* encode(rows: readonly Claimed[], deps: EncodeDeps): AsyncGenerator<readonly Outcome[]> {
  const prepared = rows.map((row) => ({ row, chunks: chunksOf(deps.redact(row.content)) }));
  const blank = prepared.filter(({ chunks }) => chunks.length === 0);
  if (blank.length > 0) yield blank.map(({ row }) => ({ row, error: NOTHING_TO_EMBED, final: true }));
  for (const group of groups(prepared, deps.batch)) yield* encodeGroup(group, deps);
}

/** The dimensions of the model's vectors; asks the encoder when it has not answered yet. Rejects as `encode` does. */
export async function learnDimensions(given: Omit<EncodeDeps, "serialQueue">): Promise<number> {
  const deps = { ...given, serialQueue: new SerialQueue() };
  const { service } = deps;
  if (service.dimensions !== null) return service.dimensions;
  for (let failures = 0; ; failures += 1) {
    try {
      const [vector] = await request([HARMLESS], deps);
      return service.dimensions ?? vector?.length ?? 0;
    } catch (error) {
      await pauseAfter(error, failures, deps);
    }
  }
}

/** Rows whose chunks fill one request; what failed before, and what needs several requests, goes by itself. */
function groups(prepared: readonly Prepared[], batch: number): Prepared[][] {
  const filled = prepared.filter(({ chunks }) => chunks.length > 0);
  const single = filled.filter(({ row, chunks }) => row.attempts > 0 || chunks.length >= batch);
  const result: Prepared[][] = [];
  let room = 0;
  for (const one of filled) {
    if (single.includes(one)) continue;
    if (one.chunks.length > room) {
      result.push([]);
      room = batch;
    }
    result.at(-1)?.push(one);
    room -= one.chunks.length;
  }
  return [...result, ...single.map((one) => [one])];
}

async function* encodeGroup(group: readonly Prepared[], deps: EncodeDeps): AsyncGenerator<readonly Outcome[]> {
  await deps.serialQueue.clear();
  const first = await attempt(group, deps);
  if ("outcomes" in first) yield first.outcomes;
  // A failure while the server fails at other texts, too, says nothing about these.
  else yield* deps.serialQueue.runExclusive((waited) => encodeWithRetries(group, deps, waited ? undefined : first));
}

/** Until each text has its outcome; `failed` is the attempt that was made already. */
async function* encodeWithRetries(
  group: readonly Prepared[],
  deps: EncodeDeps,
  failed?: Failed,
): AsyncGenerator<readonly Outcome[]> {
  for (let failures = 0; ; failures += 1) {
    const latest = failures === 0 && failed !== undefined ? failed : await attempt(group, deps);
    if ("outcomes" in latest) {
      yield latest.outcomes;
      return;
    }
    const { error } = latest;
    if (error instanceof CairnError && MAY_BE_THE_TEXT.has(error.code) && (await answers(deps))) {
      const [first] = group;
      if (group.length === 1 && first !== undefined) {
        yield [{ row: first.row, error: error.message, final: false }];
        return;
      }
      const half = Math.ceil(group.length / 2);
      yield* encodeWithRetries(group.slice(0, half), deps);
      yield* encodeWithRetries(group.slice(half), deps);
      return;
    }
    await pauseAfter(error, failures, deps);
  }
}

interface Failed {
  readonly error: unknown;
}

async function attempt(
  group: readonly Prepared[],
  deps: EncodeDeps,
): Promise<{ outcomes: readonly Outcome[] } | Failed> {
  try {
    return { outcomes: await vectorsOf(group, deps) };
  } catch (error) {
    deps.signal.throwIfAborted();
    return { error };
  }
}

async function vectorsOf(group: readonly Prepared[], deps: EncodeDeps): Promise<Outcome[]> {
  const texts = group.flatMap(({ chunks }) => chunks);
  const vectors: Vector[] = [];
  for (let from = 0; from < texts.length; from += deps.batch) {
    vectors.push(...(await request(texts.slice(from, from + deps.batch), deps)));
  }
  let at = 0;
  return group.map(({ row, chunks }) => {
    const parts = chunks.map((chunk, index) => ({ vector: vectors[at + index] ?? [], weight: weightOf(chunk) }));
    at += chunks.length;
    const vector = meanPooled(parts);
    return vector === null ? { row, error: "The model has no direction for it.", final: false } : { row, vector };
  });
}

/** The vector of a query without secrets, made like those it is compared with; of a long one the head. */
export async function encodeQuery(
  service: EmbeddingService,
  text: string,
  options: { readonly model: string; readonly signal: AbortSignal },
): Promise<Vector | null> {
  const chunks = chunksOf(text, { most: MOST_QUERY_CHUNKS });
  if (chunks.length === 0) return null;
  const vectors = await service.embed(chunks, options);
  return meanPooled(chunks.map((chunk, index) => ({ vector: vectors[index] ?? [], weight: weightOf(chunk) })));
}

const MOST_QUERY_CHUNKS = 4;

function weightOf(chunk: string): number {
  return Math.min(Buffer.byteLength(chunk), CHUNK_BYTES);
}

async function answers(deps: EncodeDeps): Promise<boolean> {
  try {
    await request([HARMLESS], deps);
    return true;
  } catch (error) {
    deps.signal.throwIfAborted();
    if (error instanceof CairnError) return false;
    throw error;
  }
}

async function request(texts: readonly string[], deps: EncodeDeps): Promise<readonly Vector[]> {
  const { service, signal, clock } = deps;
  signal.throwIfAborted();
  const began = clock.monotonic();
  const vectors = await service.embed(texts, { signal });
  deps.onAnswer?.(clock.monotonic() - began);
  return vectors;
}

/** Waits for the next attempt, or throws: EncoderUnavailableError after the last, and what is no failure of the encoder. */
async function pauseAfter(error: unknown, failures: number, { sleep, signal }: EncodeDeps): Promise<void> {
  signal.throwIfAborted();
  if (!(error instanceof CairnError)) throw error;
  const planned = RETRY_PAUSES_MS[failures];
  const asked = (error.details.retryAfterS ?? 0) * 1_000;
  if (planned === undefined || !error.retryable || asked > LONGEST_PAUSE_MS) throw new EncoderUnavailableError(error);
  await sleep(Math.max(planned, asked), signal);
}
