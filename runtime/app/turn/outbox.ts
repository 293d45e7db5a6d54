/** Sends replies, questions and messages of turns through their channels: at least once, with growing pauses while a channel is unavailable. */

import type { Attachment, Channel, EditResult } from "../../contracts/channel.ts";
import type { Database } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { AttachmentRef } from "../attachments/refs.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { OutboxPayload } from "./turn-rows.ts";

export interface Outbox {
  start(): void;
  /** A turn has ended: send now instead of at the next tick. */
  kick(): void;
  /** Sends what is due. */
  drain(): Promise<void>;
  /** A send that does not end is not waited for: it is sent again at the next start. */
  stop(): Promise<void>;
}

export interface OutboxDeps {
  readonly database: Database;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly attachments: Pick<AttachmentStore, "load">;
  readonly logger: Logger;
}

interface OutboxRow {
  readonly id: string;
  readonly seq: string | number;
  readonly turn_id: string;
  readonly channel: string;
  readonly agent: string;
  readonly payload: OutboxPayload;
  readonly attempts: number;
  /** The first message's id first. */
  readonly platform_ids: readonly string[];
}

const TICK_MS = 2_000;
const BATCH = 50;
/** A row that is being sent is not taken again for this long; then its sender counts as dead. */
const SENDING_MS = 60_000;
const MAX_PAUSE_S = 300;
/** How long a drain and a stop wait for what is being sent. */
const PATIENCE_MS = 2_000;
/** After about a day of pauses of five minutes a reply is marked as failed; it stays readable by its turn id. */
const MAX_ATTEMPTS = 300;

export function createOutbox({ database, channels, attachments, logger }: OutboxDeps): Outbox {
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> | null = null;
  let again = false;
  let stopping = false;

  async function take(): Promise<readonly OutboxRow[]> {
    const { rows } = await database.query<OutboxRow>(
      `/* outbox:take */ update outbox set attempts = attempts + 1, next_attempt_at = now() + $2 * interval '1 millisecond'
       where id in (select id from outbox where state = 'pending' and next_attempt_at <= now() and channel = any($1::text[])
                    order by next_attempt_at, seq limit $3 for update skip locked)
       returning id, seq, turn_id, channel, agent, payload, attempts, platform_ids`,
      [[...channels.keys()], SENDING_MS, BATCH],
      // Sending twice after a crash is allowed; the send itself is what must not be forgotten.
      { durable: false },
    );
    return rows;
  }

  /** A missing file does not delay a reply: the reply names it. */
  async function load(refs: readonly AttachmentRef[], turnId: string) {
    const found: Attachment[] = [];
    const missing: string[] = [];
    for (const ref of refs) {
      const data = await attachments.load(ref, turnId);
      if (data) found.push({ name: ref.name, mediaType: ref.media_type, data: data.toString("base64") });
      else missing.push(`The file ${ref.name} is not there any more.`);
    }
    return { found, missing };
  }

  async function send(row: OutboxRow): Promise<void> {
    const { conversation, user, text, question } = row.payload;
    const [primary, ...overflow] = row.platform_ids;
    try {
      const files = await load(row.payload.attachments ?? [], row.turn_id);
      const notice = [row.payload.notice, ...files.missing].filter((line) => line !== null).join(" ");
      const sent = await channels.get(row.channel)?.send(
        {
          address: { channel: row.channel, conversation, user },
          agent: row.agent,
          turnId: row.turn_id,
          text,
          ...(notice === "" ? {} : { notice }),
          ...(question ? { question } : {}),
          ...(files.found.length === 0 ? {} : { attachments: files.found }),
          ...(primary === undefined ? {} : { sent: { primary, overflow } }),
        },
        async (parts) => {
          await database.query(
            // The claim lasts from the last part on: what takes long in all is no sender that has died.
            `/* outbox:keep */ update outbox set platform_ids = $2::text[], next_attempt_at = now() + $3 * interval '1 millisecond'
             where id = $1 and state = 'pending'`,
            [row.id, idsOf(parts), SENDING_MS],
            { durable: false },
          );
        },
      );
      await database.query(
        "/* outbox:sent */ update outbox set state = 'sent', sent_at = now(), platform_ids = coalesce($2::text[], platform_ids) where id = $1",
        [row.id, sent ? idsOf(sent) : null],
        { durable: false },
      );
    } catch (error) {
      const { retryable = true, details = {} } = error instanceof CairnError ? error : {};
      const givenUp = row.attempts >= MAX_ATTEMPTS || !retryable;
      // As long as the platform asks for, where that is longer.
      const pauseS = Math.max(Math.min(2 ** Math.min(row.attempts, 16), MAX_PAUSE_S), details.retryAfterS ?? 0);
      logger.warn(
        { err: error, channel: row.channel, turnId: row.turn_id, attempts: row.attempts, givenUp },
        "a reply could not be sent",
      );
      await database.query(
        `/* outbox:failed */ update outbox set state = $2, last_error = $3, next_attempt_at = now() + $4 * interval '1 second'
         where id = $1 and state = 'pending'`,
        [row.id, givenUp ? "failed" : "pending", error instanceof Error ? error.message : String(error), pauseS],
      );
    }
  }

  async function round(): Promise<void> {
    try {
      for (;;) {
        const rows = await take();
        const turns = Map.groupBy(
          rows.toSorted((a, b) => Number(a.seq) - Number(b.seq)),
          (row) => row.turn_id,
        );
        // Messages of one turn are sent in their order; one that fails does not delay those of other turns.
        const until = performance.now() + SENDING_MS / 2;
        await Promise.all(
          [...turns.values()].map(async (messages) => {
            // The rest is past its claim and is taken again, by this node or another.
            for (const message of messages) if (performance.now() < until) await send(message);
          }),
        );
        if (rows.length < BATCH || stopping) return;
      }
    } catch (error) {
      logger.warn({ err: error }, "the outbox could not be read");
    }
  }

  function kick(): void {
    if (stopping) return;
    if (sending) {
      again = true;
      return;
    }
    sending = round().finally(() => {
      sending = null;
      if (again) {
        again = false;
        kick();
      }
    });
  }

  async function idle(): Promise<void> {
    while (sending) await sending;
  }

  return {
    start() {
      timer = setInterval(kick, TICK_MS);
      kick();
    },
    kick,
    async drain() {
      kick();
      await within(PATIENCE_MS, idle());
    },
    async stop() {
      stopping = true;
      if (timer) clearInterval(timer);
      await within(PATIENCE_MS, idle());
    },
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function idsOf({ primary, overflow }: EditResult): string[] {
  return [primary, ...overflow];
}
