/** The service's log: JSON lines to `logs/cairn.N.log` (rotated) and to standard output, with every secret taken out. */

import { type DestinationStream, type Logger, multistream, pino, type StreamEntry } from "pino";
import { openLogFile } from "./log-file.ts";

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

/** Bytes that wait for a standard output that takes none. */
const OUTPUT_WAITING = 1024 * 1024;

export async function openLog(settings: LogSettings): Promise<ServiceLog> {
  const streams: StreamEntry[] = [{ level: "trace", stream: await standardOutput() }];
  const file = settings.directory === null ? null : await openLogFile({ directory: settings.directory });
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
      await file?.close();
    },
  };
}

/** Readable on a terminal, JSON lines for everything else. */
async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return fileOrPipe();
  const { default: pretty } = await import("pino-pretty");
  return pretty({ ignore: "pid,version", singleLine: true, colorize: process.env.NO_COLOR === undefined, sync: true });
}

/**
 * An error of the stream would end the process, and its `flushSync`, which pino calls at level fatal, tries for ever where standard
 * output is a file on a full disk: neither gets through.
 */
function fileOrPipe(): DestinationStream {
  const stream = pino.destination({ fd: 1, sync: true, maxLength: OUTPUT_WAITING });
  stream.on("error", () => undefined);
  return { write: (line) => void stream.write(line) };
}
