/** Reads the log: what is there, and what comes while one waits, across rotations. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Followed, placesOf } from "./followed-files.ts";
import { headOf, type LogFile, linesBackward, linesForward, listLogFiles } from "./log-files.ts";
import { isBefore, isWanted, type LogFilter, type LogLine, parseLine } from "./log-filter.ts";

const POLL_MS = 200;

/** A file that is renamed while the directory is read may be missing once: only after this many polls it is gone. */
const POLLS_MISSED = 5;

/** How far each file has been read, by the file's id. */
export type Positions = ReadonlyMap<string, number>;

export interface Past {
  /** Oldest first. */
  readonly lines: AsyncIterable<LogLine>;
  /** Where to follow from; complete once `lines` has been read to its end. */
  readonly positions: Positions;
}

/** The newest `limit` wanted lines, or all of them. */
export async function readPast(directory: string, filter: LogFilter, limit = Number.POSITIVE_INFINITY): Promise<Past> {
  const files = await listLogFiles(directory);
  const positions = new Map<string, number>();
  const lines = Number.isFinite(limit) ? newest(files, filter, limit, positions) : all(files, filter, positions);
  return { lines, positions };
}

/** Wanted lines as they are written, from the positions on, until the signal aborts. */
export async function* follow(
  directory: string,
  filter: LogFilter,
  from: Positions,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let followed: Followed = { places: new Map([...from].map(([id, at]) => [id, { at, head: null }])), emptied: [] };
  const missed = new Map<string, number>();
  while (!signal.aborted) {
    // Oldest first: the end of a file that was rotated away comes before the beginning of the new one.
    const files = await listLogFiles(directory);
    const seen = await Promise.all(files.map(async (file) => ({ ...file, head: await headOf(file) })));
    followed = placesOf(followed, seen);
    const places = new Map(followed.places);
    followed = { ...followed, places };
    for (const file of files) {
      const place = places.get(file.id);
      if (place === undefined || file.size <= place.at) continue;
      const lines = linesForward(file.path, { from: place.at, to: file.size, id: file.id });
      let step = await lines.next();
      for (; !step.done; step = await lines.next()) {
        const line = parseLine(step.value);
        if (isWanted(line, filter)) yield line;
        if (signal.aborted) return;
      }
      places.set(file.id, { ...place, at: step.value });
    }
    const there = new Set(files.map(({ id }) => id));
    for (const id of [...places.keys()]) {
      const polls = there.has(id) ? 0 : (missed.get(id) ?? 0) + 1;
      if (polls > POLLS_MISSED) places.delete(id);
      if (polls === 0 || polls > POLLS_MISSED) missed.delete(id);
      else missed.set(id, polls);
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function* newest(
  files: readonly LogFile[],
  filter: LogFilter,
  limit: number,
  positions: Map<string, number>,
): AsyncGenerator<LogLine> {
  const found: LogLine[] = [];
  for (const file of files) positions.set(file.id, await endOfLastLine(file));
  for (const file of [...files].reverse()) {
    if (found.length >= limit || isTooOld(file, filter)) break;
    let reachedStart = false;
    for await (const text of linesBackward(file.path, positions.get(file.id) ?? file.size)) {
      if (found.length >= limit) break;
      const line = parseLine(text);
      reachedStart = isBefore(line, filter.since);
      if (reachedStart) break;
      if (isWanted(line, filter)) found.push(line);
    }
    if (reachedStart) break;
  }
  yield* found.reverse();
}

async function* all(
  files: readonly LogFile[],
  filter: LogFilter,
  positions: Map<string, number>,
): AsyncGenerator<LogLine> {
  for (const file of files) {
    if (isTooOld(file, filter)) {
      positions.set(file.id, file.size);
      continue;
    }
    const lines = linesForward(file.path, { to: file.size });
    let step = await lines.next();
    for (; !step.done; step = await lines.next()) {
      const line = parseLine(step.value);
      if (isWanted(line, filter)) yield line;
    }
    positions.set(file.id, step.value);
  }
}

function isTooOld(file: LogFile, { since }: LogFilter): boolean {
  return since !== undefined && file.modifiedMs < since.getTime();
}

/** A line that is still being written is shown only by `--follow`. */
async function endOfLastLine(file: LogFile): Promise<number> {
  for await (const unfinished of linesBackward(file.path, file.size)) {
    const start = file.size - Buffer.byteLength(unfinished);
    const lines = linesForward(file.path, { from: start, to: file.size });
    let step = await lines.next();
    while (!step.done) step = await lines.next();
    return step.value;
  }
  return file.size;
}
