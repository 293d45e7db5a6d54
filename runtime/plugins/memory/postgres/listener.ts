import { Client, escapeIdentifier } from "pg";
import type { Logger } from "../../../contracts/ports.ts";
import type { Listener } from "../wire/database.ts";
import { toMemoryError } from "../wire/errors.ts";
import { Subscriptions } from "../wire/subscriptions.ts";
import { directSettings } from "./settings.ts";

/** LISTEN on a connection of its own, made again with growing pauses whenever it is lost. */

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A dead peer is noticed by asking: nothing else is ever sent on this connection. */
const HEARTBEAT_MS = 20_000;
const ANSWER_TIMEOUT_MS = 5_000;

export interface ListenerSettings {
  /** Must reach the server itself: a pooler cannot carry LISTEN. */
  readonly connectionString: string;
  readonly logger: Logger;
  /** 0 up to 1, for the pauses. */
  readonly random: () => number;
}

export class PostgresListener implements Listener {
  readonly #settings: ListenerSettings;
  readonly #subscriptions: Subscriptions;
  #client: Client | undefined;
  #connecting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(settings: ListenerSettings) {
    this.#settings = settings;
    this.#subscriptions = new Subscriptions(settings.logger);
  }

  async listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>> {
    const first = this.#subscriptions.add(channel, handler);
    if (this.#client) {
      if (first) await this.#send(this.#client, `LISTEN ${escapeIdentifier(channel)}`);
    } else {
      await this.#connect();
    }
    return async () => {
      const last = this.#subscriptions.remove(channel, handler);
      if (last && this.#client) await this.#send(this.#client, `UNLISTEN ${escapeIdentifier(channel)}`);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  /** Never rejects: a failure is retried later, by a timer. */
  #connect(): Promise<void> {
    this.#connecting ??= this.#tryConnect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryConnect(): Promise<void> {
    if (this.#closed || this.#client) return;
    clearTimeout(this.#timer);
    const client = new Client({
      ...directSettings(this.#settings.connectionString),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ channel, payload }) => this.#subscriptions.deliver(channel, payload ?? ""));
    try {
      await client.connect();
      const channels = this.#subscriptions.channels();
      for (const channel of channels) await client.query(`LISTEN ${escapeIdentifier(channel)}`);
      const again = this.#failures > 0;
      this.#failures = 0;
      this.#client = client;
      this.#beat(client);
      // Channels that were added while the LISTENs were on their way.
      const late = this.#subscriptions.channels().filter((channel) => !channels.includes(channel));
      for (const channel of late) await this.#send(client, `LISTEN ${escapeIdentifier(channel)}`);
      if (again) this.#subscriptions.wakeAll();
    } catch (error) {
      client.connection.stream.destroy();
      this.#settings.logger.warn(
        { err: toMemoryError(error) },
        "cannot listen for database notifications; trying again",
      );
      this.#retry();
    }
  }

  #lost(client: Client, error?: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.connection.stream.destroy();
    if (this.#closed) return;
    const err = error ? toMemoryError(error) : undefined;
    this.#settings.logger.warn({ err }, "the connection for database notifications was lost; connecting again");
    this.#retry();
  }

  #retry(): void {
    if (this.#closed) return;
    this.#failures += 1;
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 10));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), longest * (0.5 + this.#settings.random() / 2));
  }

  #beat(client: Client): void {
    this.#timer = setTimeout(async () => {
      await this.#send(client, "SELECT 1");
      if (this.#client === client) this.#beat(client);
    }, HEARTBEAT_MS);
  }

  /** A statement that fails means that the connection does: it is replaced, and listens to everything again. */
  async #send(client: Client, text: string): Promise<void> {
    await client.query(text).catch((error: Error) => this.#lost(client, error));
  }
}
