/**
 * The process of a node: `node runtime/main.js --dir DIR [--maintenance [--config FILE]]`. With `--rehearse PORT` it tries a start beside the node on
 * that port, and ends; with `--with-parent` it ends when its parent does. Reads the configuration and runs the host until
 * SIGTERM or SIGINT, then drains and exits 0; SIGHUP drains and starts anew with the changed configuration, unless that is
 * invalid, or ends like SIGTERM when it is the terminal's that was closed. A parent with an IPC channel gets `{ type: "ready", url }` or `{ type: "failed", error }`.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { WATCHDOG_MS } from "./config/deadlines.ts";
import { agentWorkspace, createLearningRedactor, type LoadedConfig, loadConfig, REDACT_PATHS } from "./config/index.ts";
import { toCairnError } from "./contracts/errors.ts";
import { homePaths, prepareHome } from "./host/home.ts";
import { openLog, type ServiceLog } from "./host/logger.ts";
import { repairModes } from "./host/modes.ts";
import { rehearse } from "./host/rehearsal.ts";
import { SignalQueue } from "./host/signal-queue.ts";
import { watchTerminal } from "./host/terminal.ts";
import { type Host, startHost } from "./host.ts";

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      dir: { type: "string" },
      home: { type: "string" },
      maintenance: { type: "boolean", default: false },
      config: { type: "string" },
      rehearse: { type: "string" },
      "with-parent": { type: "boolean", default: false },
    },
  });
  const { dir, home, maintenance, config: file } = values;
  const load = () =>
    loadConfig({
      ...(dir === undefined ? {} : { dir }),
      ...(home === undefined ? {} : { home }),
      // A node that stays would forget it at its next start.
      ...(maintenance && file !== undefined ? { file } : {}),
    });
  const signals = new SignalQueue(["SIGTERM", "SIGINT", "SIGHUP"]);
  // A short-lived node works for one command, and one on a terminal for its screen: it ends with them, however they end.
  if (maintenance || values["with-parent"]) process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  try {
    let loaded: LoadedConfig | null = await load();
    if (values.rehearse !== undefined) {
      await rehearse(loaded, { ownPort: Number(values.rehearse), release: version() });
      await notifyParent({ type: "ready", url: "" });
      process.exit(0);
    }
    const kind = { maintenance, moving: maintenance && file !== undefined };
    while (loaded) loaded = await serve(loaded, kind, signals, load);
    process.exit(0);
  } catch (error) {
    const failure = toCairnError(error);
    // Where the log could be opened it has said so already; a person at a terminal reads it here.
    process.stderr.write(`${failure.message}${failure.details.hint ? `\n${failure.details.hint}` : ""}\n`);
    await notifyParent({ type: "failed", error: failure.toBody() });
    process.exit(1);
  }
}

/** Runs the node; resolves with the configuration to go on with after SIGHUP, or null at the end. */
async function serve(
  loaded: LoadedConfig,
  kind: { readonly maintenance: boolean; readonly moving: boolean },
  signals: SignalQueue,
  load: () => Promise<LoadedConfig>,
): Promise<LoadedConfig | null> {
  const workspaces = Object.keys(loaded.config.agents).map((name) => agentWorkspace(loaded.config, name));
  const repaired = await repairModes(homePaths(loaded.home), workspaces);
  const { logs } = await prepareHome(loaded.home, loaded.dir);
  const { redact, redactValues, hide } = createLearningRedactor(loaded.secrets);
  const level = loaded.env["SERVICE_LOG_LEVEL"] ?? "info";
  const log = await openLog({ directory: logs, level, version: version(), redact, redactPaths: REDACT_PATHS });
  const { logger } = log;
  const onUnexpected = (error: Error) => {
    logger.fatal({ err: error }, "an unexpected error ended the process");
    process.exit(1);
  };
  process.on("uncaughtException", onUnexpected);
  let host: Host | null = null;
  try {
    for (const { path, message, code, hint } of loaded.warnings) logger.warn({ path, code, hint }, message);
    for (const change of repaired) logger.warn(change, "the mode of a file of the service was wrong and is repaired");
    const redactors = { redact, redactValues, hide };
    host = await startHost({ loaded, version: version(), boot: randomUUID(), log, ...redactors, ...kind });
    const { url } = host;
    const startFailed = host.ready.then(
      () => notifyParent({ type: "ready", url }).then(() => new Promise<never>(() => {})),
      (error: unknown) => Promise.reject(error),
    );
    const next = await Promise.race([startFailed, host.unfit, untilAsked(signals, load, log)]);
    await end(host, loaded.config.runtime.drain_deadline);
    return next;
  } catch (error) {
    const failure = toCairnError(error);
    logger.fatal({ err: error, code: failure.code }, failure.message);
    if (host) await end(host, 0).catch(() => undefined);
    throw error;
  } finally {
    process.off("uncaughtException", onUnexpected);
    await log.close();
  }
}

/** Waits for the signal that ends this run. An invalid configuration is reported and changes nothing. */
async function untilAsked(
  signals: SignalQueue,
  load: () => Promise<LoadedConfig>,
  { logger }: ServiceLog,
): Promise<LoadedConfig | null> {
  const terminalIsGone = watchTerminal();
  for (;;) {
    const signal = await signals.next();
    if (signal !== "SIGHUP" || terminalIsGone()) {
      logger.info({ signal }, "stopping");
      return null;
    }
    try {
      const loaded = await load();
      logger.info({ signal }, "restarting with the changed configuration");
      return loaded;
    } catch (error) {
      const { code, message } = toCairnError(error);
      logger.error({ code }, `the configuration was not reloaded, the running one stays: ${message}`);
    }
  }
}

async function end(host: Host, drainDeadlineMs: number): Promise<void> {
  const watchdog = setTimeout(() => process.exit(1), drainDeadlineMs + WATCHDOG_MS);
  watchdog.unref();
  await host.stop();
  clearTimeout(watchdog);
}

/** Resolves when the parent has been told, or has gone. */
function notifyParent(message: object): Promise<void> {
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
