/** Captures what is new in a session file of Claude Code or Codex. */

import { open, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { claudeCodeLine } from "../../domain/harnesses/claude-code.ts";
import { codexLine } from "../../domain/harnesses/codex.ts";
import { NOTHING, type SessionPiece } from "../../domain/harnesses/event.ts";
import type { CaptureClient } from "../capture/types.ts";
import { Batches } from "./batches.ts";
import type { Cursors } from "./cursors.ts";
import { linesFrom } from "./lines.ts";

export interface CaptureFile {
  readonly harness: "claude-code" | "codex";
  /** Absolute. */
  readonly path: string;
  readonly client: Pick<CaptureClient, "send">;
  readonly cursors: Cursors;
  /** The session has ended: its conversation is ready to compact. */
  readonly finalize?: boolean;
  readonly signal: AbortSignal;
}

const NEWLINE = 0x0a;

/** Answers how many events were sent. The cursor moves only behind what is at the node or in the spool. */
export async function captureFile(work: CaptureFile): Promise<number> {
  const { harness, path, cursors, client, signal } = work;
  const found = await stat(path);
  if (!found.isFile()) throw new Error(`${path} is not a regular file`);
  const cursor = await cursors.read("file", path);
  const same =
    cursor !== null &&
    cursor.inode === found.ino &&
    cursor.offset <= found.size &&
    (await isLineStart(path, cursor.offset));
  const start = same ? cursor : { offset: 0, line: 0 };
  const batches = new Batches({
    client,
    harness,
    sessionKey: sessionKeyOf(harness, path),
    signal,
    fromStart: start.offset === 0,
  });
  let done = { offset: start.offset, line: start.line };
  const save = async (finalize = false) => {
    await batches.flush(finalize);
    await cursors.write({ kind: "file", path, inode: found.ino, ...done });
  };
  for await (const { number, end, value } of linesFrom(path, start.offset, start.line)) {
    const piece = pieceOf(harness, value, number);
    batches.add(
      piece,
      { session_jsonl_path: path, session_jsonl_line: number },
      { session_jsonl_reasoning_line: number },
    );
    if (!batches.isThinking) done = { offset: end, line: number };
    if (batches.isFull) await save();
  }
  if (done.offset !== start.offset || cursor === null || work.finalize) await save(work.finalize);
  return batches.sent;
}

/** Detects a file that was rewritten: then hardly ever does a line begin at the cursor's offset. */
async function isLineStart(path: string, offset: number): Promise<boolean> {
  if (offset === 0) return true;
  const file = await open(path, "r");
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(1), 0, 1, offset - 1);
    return bytesRead === 1 && buffer[0] === NEWLINE;
  } finally {
    await file.close();
  }
}

function pieceOf(harness: CaptureFile["harness"], value: unknown, line: number): SessionPiece {
  try {
    return harness === "claude-code" ? claudeCodeLine(value) : codexLine(value, line);
  } catch {
    // JSON that nests deeper than the stack: the lines after it must not wait for it.
    return NOTHING;
  }
}

/** The same file is the same session, captured by a hook or by a command. */
function sessionKeyOf(harness: CaptureFile["harness"], path: string): string {
  const stem = basename(path, ".jsonl");
  if (harness === "codex") return `codex:${/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.exec(stem)?.[0] ?? stem}`;
  const folder = dirname(path);
  // A subagent's file lies in a directory of its session.
  return basename(folder) === "subagents" ? `claude-code:${basename(dirname(folder))}:${stem}` : `claude-code:${stem}`;
}
