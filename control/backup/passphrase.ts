/** The passphrase of a backup: from a file, from standard input, or asked for on a terminal; never from an argument or the environment. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import process from "node:process";
import { readAnswer } from "../login/paste.ts";
import { Interrupted, needsTerminal, UsageError } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";
import { openBytes, STANDARD } from "../service/byte-files.ts";

export interface PassphraseInput {
  /** A path, or `-` for standard input; undefined: asked for. */
  readonly file: string | undefined;
  readonly terminal: Terminal;
  /** Of a backup that is about to be made: asked for twice, and long enough. */
  readonly isNew: boolean;
  readonly signal: AbortSignal;
  /** Says something beside the result. */
  readonly note: (text: string) => Promise<void>;
}

/** Characters; a guess costs a second, so that a few random words do. */
const SHORTEST = 8;
const LONGEST = 4_096;
const OTHERS = 0o077;

/** UsageError without a terminal and a file, and for an empty, a short or two different ones. */
export async function readPassphrase(input: PassphraseInput): Promise<string> {
  const { file, isNew, signal } = input;
  const passphrase = file === undefined ? await asked(input) : await firstLine(file, input);
  signal.throwIfAborted();
  if (passphrase === "") throw new UsageError("The passphrase is empty.", "It is the first line of what is read.");
  if (isNew) requireLong(passphrase);
  return passphrase;
}

function requireLong(passphrase: string): void {
  if ([...passphrase].length >= SHORTEST) return;
  throw new UsageError(
    `The passphrase has fewer than ${SHORTEST} characters.`,
    "Take four random words or more: who has the file can guess as long as they like.",
  );
}

async function firstLine(file: string, { note, signal }: PassphraseInput): Promise<string> {
  if (file === STANDARD) {
    if (process.stdin.isTTY) throw new UsageError("Standard input is a terminal.", "Pipe the passphrase in.");
    return withoutReturn(await readAnswer(signal));
  }
  await openBytes(file).then((opened) => void opened[Symbol.asyncIterator]().return?.());
  if (((await stat(file)).mode & OTHERS) !== 0) await note(`Others can read ${file}: run \`chmod 600\` on it.`);
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: LONGEST, signal })) chunks.push(Buffer.from(chunk));
  return withoutReturn(Buffer.concat(chunks).toString("utf8").split("\n", 1)[0] ?? "");
}

function withoutReturn(line: string): string {
  return line.replace(/\r$/, "");
}

async function asked({ terminal, isNew, signal }: PassphraseInput): Promise<string> {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal)
    throw needsTerminal("The passphrase", "--passphrase-file FILE");
  const first = await ask(isNew ? "Passphrase that is to seal the backup" : "Passphrase of the backup", signal);
  // Before it is typed once more; an empty one has its own words.
  if (isNew && first !== "") requireLong(first);
  if (!isNew || first === (await ask("The same once more", signal))) return first;
  throw new UsageError("The two passphrases are not the same.", "Nothing was written. Run the command again.");
}

async function ask(message: string, signal: AbortSignal): Promise<string> {
  const { password } = await import("@inquirer/prompts");
  try {
    return await password({ message, mask: true }, { signal, output: process.stderr });
  } catch (error) {
    // Ctrl-C at a question: the library takes the key itself.
    if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
    throw error;
  }
}
