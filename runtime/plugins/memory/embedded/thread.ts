import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { vector } from "@electric-sql/pglite-pgvector";
import { DurableFiles } from "./durable-files.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { START_PARAMETERS } from "./settings.ts";

/** The store's thread: PostgreSQL's protocol in, PostgreSQL's protocol out. It blocks while a statement runs. */

async function serve(port: MessagePort, { directory }: ThreadSettings): Promise<void> {
  const send = (message: FromThread): void => port.postMessage(message);
  const database = await PGlite.create({
    fs: new DurableFiles(directory),
    extensions: { vector, pg_trgm },
    startParams: START_PARAMETERS,
  });
  port.on("message", (message: ToThread) => {
    if (message.type === "bytes") {
      try {
        const bytes = database.execProtocolRawSync(message.bytes);
        if (bytes.length > 0) send({ type: "bytes", bytes });
      } catch (error) {
        fail(port, error);
      }
      return;
    }
    database.close().then(
      () => {
        send({ type: "closed" });
        port.close();
      },
      (error: unknown) => fail(port, error),
    );
  });
  send({ type: "ready" });
}

/** The engine is in an unknown state: the owner ends this thread and starts another. */
function fail(port: MessagePort, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
  port.postMessage({ type: "failed", message, ...(code ? { code } : {}) } satisfies FromThread);
  port.close();
}

if (parentPort) {
  const port = parentPort;
  // The owner of the thread hands over its settings as workerData.
  serve(port, workerData as ThreadSettings).catch((error: unknown) => fail(port, error));
}
