import { randomBytes } from "node:crypto";
import { v7 } from "uuid";
import { createMemory, type MemoryDeps, type Recall } from "../../runtime/app/recall/memory.ts";
import type { WriteBatch, WriteEntry, WriteReport } from "../../runtime/app/transcript/batch.ts";
import { createWriter, type Writer, type WriterOptions } from "../../runtime/app/transcript/writer.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import type { Clock } from "../../runtime/contracts/ports.ts";
import { contentKey } from "../../runtime/domain/dedupe.ts";
import { createTokenizer } from "../../runtime/domain/tokens.ts";
import { quietLogger } from "./databases.ts";

/** The memory of a test: writer and recall over its database, at a time that the test sets. */

export const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** As a node makes the marks of fences. */
export const newMark = (): string => randomBytes(12).toString("hex");

/** A clock that stands at the given time. */
export function clockAt(iso: string): Clock {
  return { now: () => new Date(iso), monotonic: () => performance.now() };
}

export function writerOf(database: Database, options: Partial<WriterOptions> = {}): Writer {
  return createWriter({ database, newId: v7, clock: systemClock, ...options });
}

export function memoryOf(database: Database, options: Partial<MemoryDeps> = {}): Recall {
  return createMemory({
    database,
    writer: writerOf(database),
    clock: systemClock,
    logger: quietLogger,
    countTokens: createTokenizer(),
    newMark,
    ...options,
  });
}

/** An entry of a user's message, unless said otherwise; equal contents have equal keys. */
export function said(content: string, entry: Partial<WriteEntry> = {}): WriteEntry {
  return { role: "user", content, key: contentKey({ role: "user", content }, "append"), cap: false, ...entry };
}

/** Writes entries to a session of the agent `main` on the channel `agent`. */
export function write(
  writer: Writer,
  sessionKey: string,
  entries: readonly WriteEntry[],
  batch: Partial<WriteBatch> = {},
): Promise<WriteReport> {
  return writer.write({ sessionKey, agent: "main", channel: "agent", openedBy: "turn", entries, ...batch });
}
