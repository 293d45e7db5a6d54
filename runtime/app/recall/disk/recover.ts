/** Fetches back what was cut from a captured row, from the session file that its disk pointer names. */

import type { Metadata } from "../../../contracts/records.ts";
import { claudeCodeLine, isClaudeCodeLine } from "../../../domain/harnesses/claude-code.ts";
import { codexLine, isCodexLine } from "../../../domain/harnesses/codex.ts";
import type { SessionPiece } from "../../../domain/harnesses/event.ts";
import {
  type CutPart,
  type CutRow,
  type FoundParts,
  FULL_LENGTHS,
  partsFrom,
} from "../../../domain/harnesses/match.ts";
import { openCodePart } from "../../../domain/harnesses/opencode.ts";
import { readParts } from "./session-database.ts";
import { resolveSessionFile, type SessionFileKind, UnreadablePointer } from "./session-files.ts";
import { readLines } from "./session-lines.ts";

export interface Recovery {
  readonly source: SessionFileKind;
  readonly parts: FoundParts & { readonly reasoning?: string };
}

/** What was found of the wanted parts, or why nothing was; null for a row without a pointer. */
export type Recover = (
  row: CutRow,
  wanted: readonly CutPart[],
  signal?: AbortSignal,
) => Promise<Recovery | { readonly reason: string } | null>;

/** Reading a file from its start to the line: gigabytes on a slow disk. */
const DEADLINE_MS = 15_000;
/** Thinking stands right before what follows from it. */
const MAX_REASONING_LINES = 200;

/** `roots`: absolute directories; nothing outside of them is ever opened. */
export function createRecover(roots: readonly string[]): Recover {
  return async (row, wanted, signal) => {
    const { metadata } = row;
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    const both = signal ? AbortSignal.any([signal, deadline]) : deadline;
    try {
      if (metadata["session_jsonl_path"] !== undefined) {
        return found("jsonl", await fromJsonl(metadata, roots, both), row, wanted);
      }
      if (metadata["session_sqlite_path"] !== undefined) {
        return found("sqlite", await fromSqlite(metadata, roots), row, wanted);
      }
      return null;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof UnreadablePointer) return { reason: error.message };
      if (deadline.aborted) return { reason: "reading the session file took too long" };
      // The path is the hook's own; what the system says of it is not for everybody who may read the memory.
      return { reason: "the session file could not be read" };
    }
  };
}

async function fromJsonl(metadata: Metadata, roots: readonly string[], signal: AbortSignal): Promise<SessionPiece[]> {
  const { session_jsonl_line: line, session_jsonl_reasoning_line: from } = metadata;
  if (!isLine(line)) throw new UnreadablePointer("its disk pointer names no line");
  const first = isLine(from) && from < line ? Math.max(from, line - MAX_REASONING_LINES) : line;
  const path = await resolveSessionFile(metadata["session_jsonl_path"], "jsonl", roots);
  const lines = await readLines(path, first, line, signal);
  return lines.map((value, n) => {
    const number = line - lines.length + 1 + n;
    if (isCodexLine(value)) return codexLine(value, number);
    if (isClaudeCodeLine(value)) return claudeCodeLine(value);
    throw new UnreadablePointer("its disk pointer does not lead to a session file");
  });
}

async function fromSqlite(metadata: Metadata, roots: readonly string[]): Promise<SessionPiece[]> {
  const { session_sqlite_part_id: part, session_sqlite_reasoning_part_id: from } = metadata;
  if (typeof part !== "string" || part === "") throw new UnreadablePointer("its disk pointer names no part");
  const path = await resolveSessionFile(metadata["session_sqlite_path"], "sqlite", roots);
  const parts = await readParts(path, part, typeof from === "string" && from < part ? from : undefined);
  return parts.map(openCodePart);
}

/** The last piece is the one that the pointer names; reasoning may stand in it and before it. */
function found(
  source: SessionFileKind,
  pieces: readonly SessionPiece[],
  row: CutRow,
  wanted: readonly CutPart[],
): Recovery | { readonly reason: string } {
  const reasoning = pieces.map((piece) => piece.reasoning ?? "").join("");
  const whole = reasoning.length === row.metadata[FULL_LENGTHS.reasoning] && wanted.includes("reasoning");
  const parts = { ...partsFrom(pieces.at(-1)?.events ?? [], row, wanted), ...(whole ? { reasoning } : {}) };
  if (Object.keys(parts).length > 0) return { source, parts };
  return { reason: "the session file does not hold it any more where the disk pointer says" };
}

function isLine(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}
