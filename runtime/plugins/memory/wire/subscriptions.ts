import type { Logger } from "../../../contracts/ports.ts";

/** Handlers by channel; both listeners keep theirs in one. */
export class Subscriptions {
  readonly #handlers = new Map<string, Set<(payload: string) => void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** True when it is the channel's first handler. */
  add(channel: string, handler: (payload: string) => void): boolean {
    const handlers = this.#handlers.get(channel);
    if (handlers) {
      handlers.add(handler);
      return false;
    }
    this.#handlers.set(channel, new Set([handler]));
    return true;
  }

  /** True when it was the channel's last handler. */
  remove(channel: string, handler: (payload: string) => void): boolean {
    const handlers = this.#handlers.get(channel);
    if (!handlers?.delete(handler) || handlers.size > 0) return false;
    return this.#handlers.delete(channel);
  }

  channels(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  deliver(channel: string, payload: string): void {
    for (const handler of this.#handlers.get(channel) ?? []) {
      try {
        handler(payload);
      } catch (err) {
        // It is called from a socket's event: thrown further, it would end the process.
        this.#logger.error({ err, channel }, "a handler of database notifications failed");
      }
    }
  }

  /** After a gap, notifications may have been missed: every handler is called once, with an empty payload. */
  wakeAll(): void {
    for (const channel of this.#handlers.keys()) this.deliver(channel, "");
  }
}
