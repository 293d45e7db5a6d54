import { escapeIdentifier, type Notification } from "pg";
import type { Logger } from "../../../contracts/ports.ts";
import type { Connections } from "../wire/connection.ts";
import type { Listener } from "../wire/database.ts";
import { toMemoryError } from "../wire/errors.ts";
import { Subscriptions } from "../wire/subscriptions.ts";

/** LISTEN on the one connection; sent again whenever the store's thread was replaced. */
export class EmbeddedListener implements Listener {
  readonly #connections: Connections;
  readonly #logger: Logger;
  readonly #subscriptions: Subscriptions;

  constructor(connections: Connections, logger: Logger) {
    this.#connections = connections;
    this.#logger = logger;
    this.#subscriptions = new Subscriptions(logger);
  }

  async listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>> {
    if (this.#subscriptions.add(channel, handler)) await this.#run([`LISTEN ${escapeIdentifier(channel)}`]);
    return async () => {
      if (!this.#subscriptions.remove(channel, handler)) return;
      await this.#run([`UNLISTEN ${escapeIdentifier(channel)}`]).catch(() => {});
    };
  }

  deliver({ channel, payload }: Notification): void {
    this.#subscriptions.deliver(channel, payload ?? "");
  }

  /** After a new thread has taken over: listens again, and notifies all handlers that something may have been missed. */
  async renew(): Promise<void> {
    try {
      await this.#run(this.#subscriptions.channels().map((channel) => `LISTEN ${escapeIdentifier(channel)}`));
    } catch (err) {
      // The thread is gone again; the next one renews again.
      this.#logger.warn({ err }, "cannot listen for database notifications");
      return;
    }
    this.#subscriptions.wakeAll();
  }

  async close(): Promise<void> {}

  async #run(statements: readonly string[]): Promise<void> {
    if (statements.length === 0) return;
    const lease = await this.#connections.acquire();
    try {
      await lease.client.query(statements.join("; "));
    } catch (error) {
      throw toMemoryError(error);
    } finally {
      lease.release();
    }
  }
}
