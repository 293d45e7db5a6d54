/**
 * The services of a node, started one after the other and ended in the reverse order of their start: first all are drained,
 * while the others still work, then all are stopped. A service may rely on everything before it in the list.
 */

import type { Logger } from "../contracts/ports.ts";

export interface Service {
  readonly name: string;
  /** Rejects when it cannot start, and then has undone what it began: it is not stopped. The signal is that of the node's end. */
  start?(signal: AbortSignal): Promise<void> | void;
  /** Takes nothing new and lets what runs come to its end, within a deadline of its own. */
  drain?(): Promise<void> | void;
  /** Ends it; also called when its drain has failed. */
  stop?(): Promise<void> | void;
}

export class Services {
  readonly #logger: Logger;
  readonly #running: Service[] = [];
  readonly #stopping = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  #ending: Promise<void> | null = null;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Aborts when the services have to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Takes in a service that runs already: what is opened before the others can be built. */
  add(service: Service): void {
    this.#running.push(service);
  }

  /**
   * Starts them behind those that run. If one fails, everything that runs is ended, and its error is the one that rejects;
   * a service that did not get to its start when `stop` was called is never started.
   */
  start(services: readonly Service[]): Promise<void> {
    this.#starting = this.#starting.then(() => this.#start(services));
    // Its caller gets the error; the wait of `stop` does not.
    this.#starting.catch(() => undefined);
    return this.#starting;
  }

  /** Drains and stops all. One that fails keeps no other from its end; the first failure rejects when all is done. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#starting.catch(() => undefined);
    await this.#end();
  }

  async #start(services: readonly Service[]): Promise<void> {
    try {
      for (const service of services) {
        this.stopping.throwIfAborted();
        await service.start?.(this.stopping);
        this.#running.push(service);
      }
    } catch (error) {
      this.#stopping.abort();
      await this.#end().catch(() => undefined);
      throw error;
    }
  }

  #end(): Promise<void> {
    this.#ending ??= this.#drainAndStop();
    return this.#ending;
  }

  async #drainAndStop(): Promise<void> {
    const services = [...this.#running].reverse();
    const failures: unknown[] = [];
    for (const step of ["drain", "stop"] as const) {
      for (const service of services) {
        try {
          await service[step]?.();
        } catch (error) {
          this.#logger.error({ err: error, service: service.name }, `a service failed to ${step}`);
          failures.push(error);
        }
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
