import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { Client, type Notification } from "pg";
import { MemoryError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { endThread } from "../../shared/end-thread.ts";
import { storeFull } from "../wire/errors.ts";
import { columnTypes } from "../wire/types.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { engineProgram } from "./program.ts";
import { ThreadStream } from "./stream.ts";

/** One run of the store's thread with the one client that talks to it: from its start until it is closed or ended. */

const START_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 30_000;

export interface EngineEvents {
  onNotification(notification: Notification): void;
  /** The thread has ended without a request to close. */
  onLost(error: Error): void;
}

export class Engine {
  readonly client: Client;
  readonly #worker: Worker;
  readonly #stream: ThreadStream;
  readonly #events: EngineEvents;
  readonly #logger: Logger;
  readonly #ready = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  #closing = false;
  #lost: Error | undefined;

  private constructor(settings: ThreadSettings, logger: Logger, events: EngineEvents) {
    this.#events = events;
    this.#logger = logger;
    this.#worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: settings,
      name: "cairn-store",
    });
    this.#stream = new ThreadStream((bytes, relaxed) => this.#post({ type: "bytes", bytes, relaxed }));
    // The client only listens to it while it is connected; what ends it is reported by `#fail`.
    this.#stream.on("error", () => {});
    this.client = new Client({
      user: "postgres",
      database: "postgres",
      ssl: false,
      types: columnTypes(),
      pipeline: true,
      stream: () => this.#stream,
    });
    this.client.on("error", () => {});
    this.client.on("notification", (notification) => events.onNotification(notification));
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => {
      this.#fail(new Error("Connection terminated: the store's thread has ended"));
      this.#exited.resolve();
    });
  }

  /** Opens the store in a new thread; rejects with the engine's message when it cannot. */
  static async start(settings: Omit<ThreadSettings, "program">, logger: Logger, events: EngineEvents): Promise<Engine> {
    const engine = new Engine({ ...settings, program: await engineProgram() }, logger, events);
    const deadline = setTimeout(
      () => engine.end(new Error("timeout expired: the store did not open")),
      START_TIMEOUT_MS,
    );
    try {
      await engine.#ready.promise;
      await engine.client.connect();
      return engine;
    } catch (error) {
      engine.end(error instanceof Error ? error : new Error(String(error)));
      await engine.exited;
      throw engine.#lost ?? error;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Resolves when the thread has ended and writes nothing any more: only then may another open its files. */
  get exited(): Promise<void> {
    return this.#exited.promise;
  }

  /** Whether what the client sends from now on may be lost in a power cut. */
  set relaxed(value: boolean) {
    this.#stream.relaxed = value;
  }

  /** What the client sends until the running callback has ended goes to the thread as one message. */
  gather(): void {
    this.#stream.cork();
    process.nextTick(() => this.#stream.uncork());
  }

  /** Ends the thread now, whatever it does; its statements reject with the reason. */
  end(reason: Error): void {
    this.#fail(reason);
    endThread(this.#worker).catch((err: unknown) => this.#logger.error({ err }, "the store's thread did not end"));
  }

  /** Writes everything out and ends the thread. */
  async close(): Promise<void> {
    this.#closing = true;
    const deadline = setTimeout(() => void endThread(this.#worker), CLOSE_TIMEOUT_MS);
    this.#post({ type: "close" });
    await this.#exited.promise;
    clearTimeout(deadline);
    this.#stream.destroy();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromThread): void {
    if (message.type === "bytes") this.#stream.push(message.bytes);
    else if (message.type === "ready") this.#ready.resolve();
    else if (message.type === "failed") this.end(failure(message.lines, message.full));
  }

  #fail(error: Error): void {
    if (this.#lost || this.#closing) return;
    this.#lost = error;
    this.#ready.reject(error);
    this.#stream.destroy(error);
    this.#events.onLost(error);
  }
}

function failure(lines: readonly string[], full: boolean): MemoryError {
  const cause = new Error(lines.join("\n"));
  if (full) return storeFull(cause);
  const reason = lines.findLast((line) => /\b(PANIC|FATAL): /.test(line)) ?? lines[0] ?? "no reason given";
  return new MemoryError("MEMORY_UNAVAILABLE", `The engine of the embedded store has failed: ${reason}`, { cause });
}
