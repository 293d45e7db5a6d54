/** Asks on the terminal for confirmation of the repairs. */

import process from "node:process";
import { Interrupted } from "../output/failure.ts";

/** Rejects with Interrupted at Ctrl-C, and with the signal's reason. */
export async function confirmRepairs(count: number, signal: AbortSignal): Promise<boolean> {
  const { confirm } = await import("@inquirer/prompts");
  const message = count === 1 ? "Make this change?" : `Make these ${count} changes?`;
  try {
    // Standard output is for the result.
    return await confirm({ message, default: false }, { output: process.stderr, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && error.name === "ExitPromptError") throw new Interrupted("SIGINT");
    throw error;
  }
}
