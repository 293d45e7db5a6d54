/** The token that lets a node join: from a file, from standard input, or asked for on a terminal; never from an argument. */

import { stat } from "node:fs/promises";
import process from "node:process";
import { JOIN_TOKEN_PREFIX, readJoinToken } from "../../runtime/contracts/join-token.ts";
import type { JoinToken } from "../../runtime/contracts/membership.ts";
import { readAnswer } from "../login/paste.ts";
import { Interrupted, needsTerminal, UsageError } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";
import { openBytes, STANDARD } from "../service/byte-files.ts";

export interface TokenInput {
  /** A path, or `-` for standard input; undefined: asked for. */
  readonly file: string | undefined;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  /** Says something beside the result. */
  readonly note: (text: string) => Promise<void>;
}

/** Bytes; a token has a tenth of them. */
const LONGEST = 4_096;
const OTHERS = 0o077;

/** Of the arguments of a process, which other users of the machine can see; it is not repeated. */
export function notAnArgument(what: string): UsageError {
  return new UsageError(
    `${what}, and this is a token: other users of this machine can see it in an argument.`,
    "Write it into a file and pass --token-file FILE, or pipe it in with --token-file -.",
  );
}

/** Whether an argument is what `mesh token` prints, or a part of it. */
export function isToken(text: string): boolean {
  return text.startsWith(JOIN_TOKEN_PREFIX);
}

/** As text and as what it says. UsageError without a terminal and a file, and for what is no such token. */
export async function readToken(input: TokenInput): Promise<{ readonly text: string; readonly token: JoinToken }> {
  const text = (input.file === undefined ? await asked(input) : await firstLine(input.file, input)).trim();
  input.signal.throwIfAborted();
  const token = readJoinToken(text);
  if (token !== null) return { text, token };
  throw new UsageError(
    text === "" ? "The token is empty." : "That is no token for joining, or a part of one.",
    "It is one line that begins with cairn-join-; `cairn mesh token` there, on a member, prints it.",
  );
}

async function firstLine(file: string, { note, signal }: TokenInput): Promise<string> {
  if (isToken(file)) throw notAnArgument("--token-file takes the name of a file");
  if (file === STANDARD) {
    if (process.stdin.isTTY) throw new UsageError("Standard input is a terminal.", "Pipe the token in.");
    return readAnswer(signal);
  }
  const chunks: Buffer[] = [];
  let read = 0;
  for await (const chunk of await openBytes(file)) {
    chunks.push(Buffer.from(chunk));
    read += chunk.length;
    if (read > LONGEST) break;
  }
  if (((await stat(file)).mode & OTHERS) !== 0) await note(`Others can read ${file}: run \`chmod 600\` on it.`);
  return Buffer.concat(chunks).toString("utf8").split("\n", 1)[0] ?? "";
}

async function asked({ terminal, signal }: TokenInput): Promise<string> {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) throw needsTerminal("The token", "--token-file FILE");
  const { password } = await import("@inquirer/prompts");
  try {
    const message = "Token, as `cairn mesh token` prints it on a member";
    return await password({ message, mask: true }, { signal, output: process.stderr });
  } catch (error) {
    // Ctrl-C at a question: the library takes the key itself.
    if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
    throw error;
  }
}
