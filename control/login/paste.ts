/** Asks for what the browser shows at the end of a login. */

import process from "node:process";
import { Interrupted, needsTerminal } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";

/** A UsageError that names the flag without a terminal. */
export function askForAnswer(terminal: Terminal): (signal: AbortSignal) => Promise<string> {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) throw needsTerminal("The code", "--code-stdin and pipe it in");
  return async (signal) => {
    const { password } = await import("@inquirer/prompts");
    try {
      return await password(
        { message: "The address that the browser ended at, or CODE#STATE", mask: true },
        { signal, output: process.stderr },
      );
    } catch (error) {
      // Ctrl-C at a question: the library takes the key itself.
      if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
      throw error;
    }
  };
}

const LONGEST = 16_384;

/** The first line of standard input. */
export async function readAnswer(signal: AbortSignal): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  const end = (): void => void process.stdin.destroy();
  signal.addEventListener("abort", end, { once: true });
  try {
    for await (const piece of process.stdin) {
      text += String(piece);
      if (text.includes("\n") || text.length > LONGEST) break;
    }
  } finally {
    signal.removeEventListener("abort", end);
  }
  signal.throwIfAborted();
  return text.split("\n", 1)[0] ?? "";
}
