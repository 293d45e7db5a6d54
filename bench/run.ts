/**
 * `npm run bench -- [names] [--option value]`: runs the named benches, or all, one after the other, and prints one JSON document. Progress goes to
 * standard error. Exits with 1 when a bench failed to run; a goal that was missed is a result, not a failure.
 */

import { globSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Bench } from "./support/bench.ts";
import { Context, SharedPostgres } from "./support/context.ts";
import { Report, type ReportedFigure } from "./support/report.ts";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const SUFFIX = ".bench.ts";

/** What a bench may take to let go of what it has ended. */
const LINGER_MS = 10_000;

process.exitCode = await main(process.argv.slice(2));
// A bench that failed may have left something open behind; that is no reason to stay.
setTimeout(() => {
  process.stderr.write(`still open: ${process.getActiveResourcesInfo().join(", ")}\n`);
  process.exit();
}, LINGER_MS).unref();

/** `--name value` is an option of a bench; what remains are names. */
function parse(args: readonly string[]): { readonly asked: readonly string[]; readonly options: Map<string, string> } {
  const asked: string[] = [];
  const options = new Map<string, string>();
  for (let n = 0; n < args.length; n += 1) {
    const [name, value] = [args[n] ?? "", args[n + 1]];
    if (name.startsWith("--") && value !== undefined) {
      options.set(name.slice(2), value);
      n += 1;
    } else {
      asked.push(name);
    }
  }
  return { asked, options };
}

async function main(args: readonly string[]): Promise<number> {
  const { asked, options } = parse(args);
  const names = globSync(`*${SUFFIX}`, { cwd: FOLDER })
    .map((file) => basename(file, SUFFIX))
    .sort();
  const unknown = asked.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`No such bench: ${unknown.join(", ")}. Known: ${names.join(", ")}\n`);
    return 2;
  }
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const postgres = new SharedPostgres();
  const figures: ReportedFigure[] = [];
  const failed: { bench: string; error: string }[] = [];
  try {
    for (const name of asked.length > 0 ? asked : names) {
      if (stop.signal.aborted) break;
      const report = new Report(name);
      try {
        await runBench(name, new Context(report, postgres, stop.signal, options));
      } catch (error) {
        failed.push({ bench: name, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      }
      figures.push(...report.figures);
    }
  } finally {
    await postgres.stop();
  }
  process.stdout.write(`${JSON.stringify({ machine: machine(), figures, failed }, undefined, 2)}\n`);
  if (stop.signal.aborted) return 130;
  return failed.length > 0 ? 1 : 0;
}

async function runBench(name: string, context: Context): Promise<void> {
  const { bench }: { bench: Bench } = await import(pathToFileURL(join(FOLDER, `${name}${SUFFIX}`)).href);
  process.stderr.write(`${name}: ${bench.about}\n`);
  try {
    await bench.run(context);
  } finally {
    await context.end();
  }
}

function machine() {
  return {
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    memory_mb: Math.round(totalmem() / 1_000_000),
  };
}
