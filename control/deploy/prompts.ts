/** The questions of `infra`, asked on standard error so that the result alone goes to standard output. */

import process from "node:process";
import { Interrupted } from "../output/failure.ts";
import type { Terminal } from "../output/terminal.ts";
import { diffText } from "./diff-words.ts";
import type { Prompts } from "./operations/services.ts";

/** Null without a terminal. `before` clears the live line. */
export function terminalPrompts(terminal: Terminal, before: () => Promise<void>): Prompts | null {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) return null;
  const ask = async <T>(
    signal: AbortSignal,
    question: (context: { signal: AbortSignal; output: NodeJS.WriteStream }) => Promise<T>,
  ): Promise<T> => {
    await before();
    try {
      return await question({ signal, output: process.stderr });
    } catch (error) {
      // Ctrl-C at a question: the library takes the key itself.
      if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
      throw error;
    }
  };
  return {
    confirm: (message, diff, signal) =>
      ask(signal, async (context) => {
        const { confirm } = await import("@inquirer/prompts");
        await terminal.err(`${diffText(diff, terminal.errMark)}\n`);
        return confirm({ message, default: false }, context);
      }),
    adopt: (names, signal) =>
      ask(signal, async (context) => {
        const { confirm } = await import("@inquirer/prompts");
        const message = `Data of an earlier stack stand on the target: ${names.join(", ")}. Take them over?`;
        return confirm({ message, default: false }, context);
      }),
    typeName: (message, signal) =>
      ask(signal, async (context) => {
        const { input } = await import("@inquirer/prompts");
        return (await input({ message }, context)).trim();
      }),
  };
}
