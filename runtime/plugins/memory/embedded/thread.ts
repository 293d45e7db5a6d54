import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { vector } from "@electric-sql/pglite-pgvector";
import { DurableFiles } from "./durable-files.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { START_PARAMETERS } from "./settings.ts";
import { unitsOf } from "./units.ts";

/** The store's thread: PostgreSQL's protocol in, PostgreSQL's protocol out. It blocks while a statement runs. */

/** Within this time even a relaxed commit is on disk, as PostgreSQL's own WAL writer would see to. */
const FLUSH_MS = 200;
/** The engine's last message, for the error with the reason of its end. */
const KEPT_LINES = 20;

async function serve(port: MessagePort, { directory, syncedBefore, program }: ThreadSettings): Promise<void> {
  const send = (message: FromThread): void => port.postMessage(message);
  const files = new DurableFiles(directory, syncedBefore);
  const said: string[] = [];
  const database = await PGlite.create({
    fs: files,
    pgliteWasmModule: program,
    onStderr: (line) => {
      said.push(line);
      if (said.length > KEPT_LINES) said.shift();
      // The engine has aborted itself, and its JavaScript would keep calling it.
      if (/\bPANIC: /.test(line)) fail(port, new Error(line), said);
      return false;
    },
    extensions: { vector, pg_trgm },
    startParams: START_PARAMETERS,
  }).catch((error: unknown) => fail(port, error, said));
  if (!database) return;
  let flushing: NodeJS.Timeout | undefined;
  const flush = (): void => {
    flushing = undefined;
    try {
      files.flush();
    } catch (error) {
      fail(port, error, said);
    }
  };
  const run = (bytes: Uint8Array, relaxed: boolean): void => {
    try {
      files.relaxed = relaxed;
      for (const unit of unitsOf(bytes)) {
        const answer = database.execProtocolRawSync(unit);
        if (answer.length > 0) send({ type: "bytes", bytes: answer });
      }
    } catch (error) {
      fail(port, error, said);
    }
    if (files.pending) flushing ??= setTimeout(flush, FLUSH_MS);
  };
  port.on("message", (message: ToThread) => {
    if (message.type === "bytes") return run(message.bytes, message.relaxed);
    clearTimeout(flushing);
    files.relaxed = false;
    database.close().then(
      () => {
        send({ type: "closed" });
        port.close();
      },
      (error: unknown) => fail(port, error, said),
    );
  });
  files.started();
  send({ type: "ready" });
}

/** The engine is in an unknown state: the owner ends this thread and starts another. */
function fail(port: MessagePort, error: unknown, said: readonly string[]): void {
  const lines = [error instanceof Error ? error.message : String(error), ...said];
  const full = lines.some((line) => line.includes("No space left on device") || line.includes("ENOSPC"));
  port.postMessage({ type: "failed", lines, full } satisfies FromThread);
}

if (parentPort) {
  const port = parentPort;
  // The owner of the thread hands over its settings as workerData.
  void serve(port, workerData as ThreadSettings);
}
