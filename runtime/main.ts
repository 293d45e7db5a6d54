/**
 * The process of a node: `node runtime/main.js --dir DIR [--maintenance]`. Reads the configuration, runs the host until
 * SIGTERM or SIGINT, then drains and exits 0. A parent with an IPC channel is told `{ type: "ready", url }` or
 * `{ type: "failed", error }`.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createRedactor, loadConfig, REDACT_PATHS } from "./config/index.ts";
import { toCairnError } from "./contracts/errors.ts";
import { prepareHome } from "./host/home.ts";
import { openLog, type ServiceLog } from "./host/logger.ts";
import { type Host, startHost } from "./host.ts";

/** Between the drain deadline and the supervisor's kill. */
const WATCHDOG_MS = 10_000;

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { dir: { type: "string" }, home: { type: "string" }, maintenance: { type: "boolean", default: false } },
  });
  const stop = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.resolve(signal));

  let log: ServiceLog | null = null;
  let host: Host | null = null;
  try {
    const loaded = await loadConfig({
      ...(values.dir === undefined ? {} : { dir: values.dir }),
      ...(values.home === undefined ? {} : { home: values.home }),
    });
    const paths = await prepareHome(loaded.home);
    const redact = createRedactor(loaded.secrets);
    log = await openLog({
      directory: paths.logs,
      level: loaded.env["SERVICE_LOG_LEVEL"] ?? "info",
      version: version(),
      redact,
      redactPaths: REDACT_PATHS,
    });
    const { logger } = log;
    for (const { path, message } of loaded.warnings) logger.warn({ path }, message);
    process.on("uncaughtException", (error) => {
      logger.fatal({ err: error }, "an unexpected error ended the process");
      process.exit(1);
    });
    const started = await startHost({
      loaded,
      version: version(),
      boot: randomUUID(),
      log,
      redact,
      maintenance: values.maintenance,
    });
    host = started;
    started.ready.then(
      () => void tell({ type: "ready", url: started.url }),
      (error: unknown) => stop.reject(error),
    );
    const signal = await stop.promise;
    logger.info({ signal }, "stopping");
    await end(started, loaded.config.runtime.drain_deadline);
    await log.close();
    process.exit(0);
  } catch (error) {
    await fail(error, log, host);
  }
}

async function end(host: Host, drainDeadlineMs: number): Promise<void> {
  const watchdog = setTimeout(() => process.exit(1), drainDeadlineMs + WATCHDOG_MS);
  watchdog.unref();
  await host.stop();
  clearTimeout(watchdog);
}

async function fail(error: unknown, log: ServiceLog | null, host: Host | null): Promise<void> {
  const known = toCairnError(error);
  if (log) log.logger.fatal({ err: error, code: known.code }, known.message);
  else process.stderr.write(`${known.message}${known.details.hint ? `\n${known.details.hint}` : ""}\n`);
  await tell({ type: "failed", error: known.toBody() });
  if (host) await end(host, 0).catch(() => undefined);
  await log?.close();
  process.exit(1);
}

/** Resolves when the parent has been told, or has gone. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

function version(): string {
  const file = new URL(import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json", import.meta.url);
  const { version: text }: { version: string } = JSON.parse(readFileSync(file, "utf8"));
  return text;
}
