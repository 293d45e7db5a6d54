import type { Notification } from "pg";
import { MemoryError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { CLOSE_TIMEOUT_MS, type Connections, type Lease } from "../wire/connection.ts";
import { toMemoryError } from "../wire/errors.ts";
import { Engine } from "./engine.ts";

/** The one connection there is, handed out in the order of asking; its thread is started again when it was ended. */

const ACQUIRE_TIMEOUT_MS = 30_000;
const CLOCK_TOLERANCE_MS = 2_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

export interface EmbeddedEvents {
  onNotification(notification: Notification): void;
  /** A new thread has taken the place of one that was lost. */
  onReopened(): void;
}

interface Waiter {
  readonly resolve: (lease: Lease) => void;
  readonly reject: (error: MemoryError) => void;
  readonly deadline: NodeJS.Timeout;
}

export class EmbeddedConnections implements Connections {
  readonly sessions = true;
  readonly graceMs = 0;
  readonly #logger: Logger;
  #directory = "";
  /** When the first opening began: it has brought everything older to the disk. */
  #opened: Instant | undefined;
  #events: EmbeddedEvents = { onNotification: () => {}, onReopened: () => {} };
  readonly #waiting: Waiter[] = [];
  #engine: Engine | undefined;
  #opening: Promise<void> | undefined;
  #reopenTimer: NodeJS.Timeout | undefined;
  /** Why the last attempt to open the store again failed. */
  #unopenable: MemoryError | undefined;
  #failures = 0;
  #uses = 0;
  #busy = false;
  #onIdle: (() => void) | undefined;
  #closed = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** How often the connection was handed out. */
  get uses(): number {
    return this.#uses;
  }

  /** First opening: rejects when the store cannot be opened, where later ones are tried again. */
  async open(directory: string, events: EmbeddedEvents): Promise<void> {
    this.#directory = directory;
    this.#events = events;
    const opening = new Instant();
    this.#engine = await this.#start(directory);
    this.#opened = opening;
  }

  acquire(): Promise<Lease> {
    if (this.#unopenable) return Promise.reject(copyOf(this.#unopenable));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve,
        reject,
        deadline: setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          reject(new MemoryError("MEMORY_UNAVAILABLE", "The store was busy for too long."));
        }, ACQUIRE_TIMEOUT_MS),
      };
      this.#waiting.push(waiter);
      this.#next();
    });
  }

  alive(): boolean {
    return this.#engine !== undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#reopenTimer);
    this.#refuseAll(new MemoryError("MEMORY_UNAVAILABLE", "The database is closed."));
    await this.#opening;
    if (this.#busy) {
      const idle = Promise.withResolvers<void>();
      this.#onIdle = idle.resolve;
      const deadline = setTimeout(idle.resolve, CLOSE_TIMEOUT_MS);
      await idle.promise;
      clearTimeout(deadline);
    }
    await this.#engine?.close();
    this.#engine = undefined;
  }

  #refuseAll(error: MemoryError): void {
    for (const waiter of this.#waiting.splice(0)) {
      clearTimeout(waiter.deadline);
      waiter.reject(copyOf(error));
    }
  }

  #next(): void {
    const engine = this.#engine;
    if (this.#busy || !engine) return;
    const waiter = this.#waiting.shift();
    if (!waiter) return;
    clearTimeout(waiter.deadline);
    this.#busy = true;
    this.#uses += 1;
    waiter.resolve({
      client: engine.client,
      abandon: () => engine.end(new Error("Connection terminated: a statement ran into its deadline")),
      gather: () => engine.gather(),
      relax: () => {
        engine.relaxed = true;
      },
      release: (broken = false) => {
        engine.relaxed = false;
        if (broken) engine.end(new Error("Connection terminated: a transaction could not be ended"));
        this.#busy = false;
        this.#onIdle?.();
        this.#next();
      },
    });
  }

  #start(directory: string): Promise<Engine> {
    const syncedBefore = this.#opened?.wallClockMs;
    const engine = Engine.start({ directory, ...(syncedBefore === undefined ? {} : { syncedBefore }) }, this.#logger, {
      onNotification: (notification) => this.#events.onNotification(notification),
      onLost: (error) => this.#onLost(error),
    });
    return engine.catch((error: unknown) => {
      throw toMemoryError(error);
    });
  }

  #onLost(error: Error): void {
    const engine = this.#engine;
    if (!engine) return;
    this.#engine = undefined;
    this.#logger.warn({ err: error }, "the embedded store's thread was ended; opening the store again");
    this.#opening = engine.exited.then(() => this.#reopen());
  }

  async #reopen(): Promise<void> {
    if (this.#closed) return;
    await this.#start(this.#directory).then(
      (engine) => {
        this.#failures = 0;
        this.#unopenable = undefined;
        this.#engine = engine;
        this.#events.onReopened();
        this.#next();
      },
      (error: unknown) => {
        this.#failures += 1;
        this.#unopenable = toMemoryError(error);
        this.#logger.error({ err: error }, "the embedded store cannot be opened; trying again");
        this.#refuseAll(this.#unopenable);
        if (this.#closed) return;
        const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10));
        this.#reopenTimer = setTimeout(() => {
          this.#opening = this.#reopen();
        }, pause);
      },
    );
  }
}

/** Callers add to the messages of the errors that they get (pg-boss does): each has one of its own. */
function copyOf({ code, message, details }: MemoryError): MemoryError {
  return new MemoryError(code, message, details);
}

/** A moment on the wall clock, as long as that has not been turned back since. */
class Instant {
  readonly #wall = Date.now();
  readonly #monotonic = performance.now();

  /** Undefined when the wall clock cannot be trusted to order what was before and what after. */
  get wallClockMs(): number | undefined {
    const turned = Date.now() - this.#wall - (performance.now() - this.#monotonic);
    return Math.abs(turned) < CLOCK_TOLERANCE_MS ? this.#wall - CLOCK_TOLERANCE_MS : undefined;
  }
}
