/** The service's log: JSON lines to `logs/cairn.log` (rotated) and to standard output, with every secret taken out. */

import { join } from "node:path";
import { type DestinationStream, type Logger, multistream, pino, type StreamEntry } from "pino";
import buildRollingFile from "pino-roll";

export interface LogSettings {
  /** Directory of the log files; null writes to standard output only. */
  readonly directory: string | null;
  readonly level: string;
  readonly version: string;
  /** Replaces secret values in any text. */
  redact(text: string): string;
  /** pino's paths of fields that are never shown, whatever they hold. */
  readonly redactPaths: readonly string[];
}

export interface ServiceLog {
  readonly logger: Logger;
  /** Writes what is buffered; call last. */
  close(): Promise<void>;
}

const FILE_SIZE = "20m";
const FILES_KEPT = 10;

export async function openLog(settings: LogSettings): Promise<ServiceLog> {
  const streams: StreamEntry[] = [{ level: "trace", stream: await standardOutput() }];
  const file = settings.directory === null ? null : await rollingFile(settings.directory);
  if (file) streams.push({ level: "trace", stream: file });
  const logger = pino(
    {
      level: settings.level,
      base: { pid: process.pid, version: settings.version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...settings.redactPaths], censor: "[redacted]" },
      // Last, so that messages of errors and output of tools are redacted, too.
      hooks: { streamWrite: (line) => settings.redact(line) },
    },
    multistream(streams),
  );
  return {
    logger,
    async close() {
      await new Promise<void>((resolve) => {
        if (!file) return resolve();
        file.once("close", resolve);
        file.end();
      });
    },
  };
}

function rollingFile(directory: string) {
  return buildRollingFile({
    file: join(directory, "cairn"),
    extension: ".log",
    size: FILE_SIZE,
    limit: { count: FILES_KEPT },
    mkdir: true,
    mode: 0o600,
    sync: false,
  });
}

/** Readable on a terminal, JSON lines for everything else. */
async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return pino.destination({ fd: 1, sync: true });
  const { default: pretty } = await import("pino-pretty");
  return pretty({ ignore: "pid,version", singleLine: true, colorize: process.env.NO_COLOR === undefined, sync: true });
}
