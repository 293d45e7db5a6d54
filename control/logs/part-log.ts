/** The log of a part of a deployed stack, as the target's own tool prints it: lines of both its streams, as they come. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { execa } from "execa";
import { InfraError } from "../../runtime/contracts/errors.ts";
import type { PartCommand } from "../deploy/driver.ts";
import { refuseLost } from "../deploy/part-commands.ts";
import { toolMissing } from "../service/stack-parts.ts";
import { isWanted, type LogFilter, type LogLine, parseLine } from "./log-filter.ts";

/** Milliseconds that the tool gets to end when it is not needed any more. */
const KILL_AFTER_MS = 2_000;

/**
 * Wanted lines, until the tool ends or the signal aborts. INFRA_TOOL_MISSING without the tool, INFRA_HOST_UNREACHABLE where what it leads
 * to is lost, INFRA_FAILED with its last words where it fails for another reason. What a container wrote to its standard error comes on the tool's, beside the tool's own words.
 */
export async function* readPartLog(
  command: PartCommand,
  name: string,
  filter: LogFilter,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  signal.throwIfAborted();
  const { program, args } = command;
  const child = execa(program, [...args], {
    reject: false,
    buffer: false,
    stdin: "ignore",
    env: { LC_ALL: "C" },
    cancelSignal: signal,
    forceKillAfterDelay: KILL_AFTER_MS,
  });
  let last = "";
  try {
    for await (const { text, isError } of merged(child.stdout, child.stderr)) {
      if (isError) last = text;
      const line = parseLine(text);
      if (isWanted(line, filter)) yield line;
    }
    const { code, failed, exitCode } = await child;
    signal.throwIfAborted();
    if (code === "ENOENT") {
      throw toolMissing(program);
    }
    if (failed) {
      await refuseLost(command, signal);
      const words = last.trim() === "" ? `${program} ended with exit code ${exitCode}` : last.trim();
      throw new InfraError("INFRA_FAILED", `The log of ${name} cannot be read: ${words}`, {
        hint: "See `cairn infra status`; `cairn infra up` brings back what is missing.",
      });
    }
  } finally {
    child.kill();
    await child;
  }
}

interface Text {
  readonly text: string;
  readonly isError: boolean;
}

/** Lines of both streams in the order in which they come. */
async function* merged(out: Readable | null, error: Readable | null): AsyncGenerator<Text> {
  const waiting: Text[] = [];
  let open = 0;
  let wake = Promise.withResolvers<void>();
  for (const [stream, isError] of [
    [out, false],
    [error, true],
  ] as const) {
    if (stream === null) continue;
    open += 1;
    const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on("line", (text) => {
      waiting.push({ text, isError });
      wake.resolve();
    });
    lines.on("close", () => {
      open -= 1;
      wake.resolve();
    });
  }
  for (;;) {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) yield text;
    if (open === 0 && waiting.length === 0) return;
    await wake.promise;
    wake = Promise.withResolvers<void>();
  }
}

/** The newest `limit` of them, in their order. */
export async function newestOf<T>(lines: AsyncIterable<T>, limit: number): Promise<T[]> {
  const kept: T[] = [];
  for await (const line of lines) {
    kept.push(line);
    if (kept.length > limit) kept.shift();
  }
  return kept;
}
