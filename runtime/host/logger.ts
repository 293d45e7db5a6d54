/** The service's log: JSON lines to `logs/cairn.N.log` (rotated) and to standard output, with every secret taken out. */

import { once } from "node:events";
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
  /** Writes what is buffered, as far as standard output takes it within a second; call last. */
  close(): Promise<void>;
}

/** Bytes that wait for a standard output that takes none. */
const OUTPUT_WAITING = 1024 * 1024;
const CLOSE_MS = 1_000;

export async function openLog(settings: LogSettings): Promise<ServiceLog> {
  const output = await standardOutput();
  const streams: StreamEntry[] = [{ level: "trace", stream: output.stream }];
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
      await Promise.all([file?.close(), output.close()]);
    },
  };
}

interface Output {
  readonly stream: DestinationStream;
  close(): Promise<void>;
}

/** Readable on a terminal, JSON lines for everything else. */
async function standardOutput(): Promise<Output> {
  if (!process.stdout.isTTY) return fileOrPipe();
  const { default: pretty } = await import("pino-pretty");
  const options = { ignore: "pid,version", singleLine: true, sync: true };
  return {
    stream: pretty({ ...options, colorize: process.env.NO_COLOR === undefined }),
    close: async () => undefined,
  };
}

/**
 * Lines are written in the background, so that no turn waits for who reads them; those of level fatal at once, since the process may end
 * with them. An error of a stream would end the process, and its `flushSync`, which pino calls at that level, tries for ever where
 * standard output is a file on a full disk: neither gets through.
 */
function fileOrPipe(): Output {
  const background = pino.destination({ fd: 1, sync: false, maxLength: OUTPUT_WAITING });
  const last = pino.destination({ fd: 1, sync: true, maxLength: OUTPUT_WAITING });
  for (const stream of [background, last]) stream.on("error", () => undefined);
  // pino calls it at the exit of the process, too.
  background.flushSync = () => undefined;
  const levels: StreamEntry[] = [
    { level: "trace", stream: { write: (line) => void background.write(line) } },
    { level: "fatal", stream: { write: (line) => void last.write(line) } },
  ];
  return {
    stream: multistream(levels, { dedupe: true }),
    async close() {
      const late = AbortSignal.timeout(CLOSE_MS);
      const written = new Promise<void>((resolve) => background.flush(() => resolve()));
      await Promise.race([written, once(late, "abort")]);
    },
  };
}
