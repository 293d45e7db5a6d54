/**
 * Runs command lines one after the other in one process, each as if the process were its own: arguments, environment, directory,
 * standard input and exit code. Reading the sources takes most of a command's time, and here they are read once.
 */

import process from "node:process";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommandLine } from "./cairn.ts";

export interface CommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly input: string;
  /** Text that ends the command's output on both streams. */
  readonly end: string;
}

/** Milliseconds after which a command that is done and keeps its process alive is reported. */
const LINGERING_MS = 60_000;

const [node = process.execPath, , ...programAndMore] = process.argv;
const [program = ""] = programAndMore;

process.on("disconnect", () => process.exit());
process.on("message", (line: CommandLine) => void answer(line));
// Opened at their first use, they would count as what the first command left.
await Promise.all([written(process.stdout, ""), written(process.stderr, "")]);
process.send?.("ready");

async function answer({ argv, env, cwd, input, end }: CommandLine): Promise<void> {
  process.argv = [node, program, ...argv];
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
  process.chdir(cwd);
  process.exitCode = undefined;
  const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)], { objectMode: false });
  Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
  const before = resources();
  await runCommandLine(argv);
  await untilIdle(before);
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  await Promise.all([written(process.stdout, end), written(process.stderr, end)]);
  process.send?.(code);
}

/** A process ends once nothing keeps it alive, not before: what a command leaves open is a command that never ends. */
async function untilIdle(before: ReadonlyMap<string, number>): Promise<void> {
  const deadline = Date.now() + LINGERING_MS;
  for (;;) {
    const open = [...resources()].filter(([name, count]) => count > (before.get(name) ?? 0)).map(([name]) => name);
    if (open.length === 0) return;
    if (Date.now() > deadline) throw new Error(`The command is done and does not end: ${open.join(", ")}`);
    await sleep(5);
  }
}

/** What keeps this process alive, by kind; its own streams and timers of this file are there before and after. */
function resources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(text, () => resolve()));
}
