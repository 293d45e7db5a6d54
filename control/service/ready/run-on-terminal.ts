/** Runs another command of this program on the same terminal, to its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import process from "node:process";
import type { Interruption } from "../../output/interruption.ts";

/** Its exit code; 128 and its number for a signal. Ctrl-C ends the command, which has the terminal, and not this one. */
export async function runOnTerminal(
  argv: readonly string[],
  { signal, onInterrupt }: Pick<Interruption, "signal" | "onInterrupt">,
): Promise<number> {
  const giveBack = onInterrupt(() => undefined);
  const command = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...argv], { stdio: "inherit" });
  const end = (): void => void command.kill("SIGTERM");
  signal.addEventListener("abort", end, { once: true });
  try {
    await once(command, "close");
    return command.exitCode ?? 128 + (command.signalCode === null ? 0 : constants.signals[command.signalCode]);
  } finally {
    signal.removeEventListener("abort", end);
    giveBack();
  }
}
