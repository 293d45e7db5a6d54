/** Sends replies, questions and messages of turns through their channels: at least once, with growing pauses while a channel is unavailable. */

import type { Attachment, Channel, EditResult, ShownDraft } from "../../contracts/channel.ts";
import type { Database } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { AttachmentRef } from "../attachments/refs.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import { ASKED, HOLDS_UP, type OutboxPayload, UNHEARD, UNREACHABLE } from "./turn-rows.ts";
import { within } from "./within.ts";

export interface Outbox {
  start(): void;
  /** A turn has ended: send now instead of at the next tick. */
  kick(): void;
  /** A channel is connected again: what waits for that is sent now. */
  connected(channel: string): Promise<void>;
  /** Sends what is due. */
  drain(): Promise<void>;
  /** A send that does not end is not waited for: it is sent again at the next start. */
  stop(): Promise<void>;
}

export interface OutboxDeps {
  readonly database: Database;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly attachments: Pick<AttachmentStore, "load">;
  /** Milliseconds for which a channel has been connected here without a break; 0: it is not, or another node receives. */
  connectedMs(channel: string): number;
  readonly logger: Logger;
}

interface OutboxRow {
  readonly id: string;
  readonly turn_id: string;
  readonly channel: string;
  readonly agent: string;
  readonly payload: OutboxPayload;
  readonly attempts: number;
  /** The first message's id first. */
  readonly platform_ids: readonly string[];
  /** UNHEARD at their end: there may be one more. */
  readonly draft_ids: readonly string[];
  /** Before this attempt. */
  readonly unsure: boolean;
}

const TICK_MS = 2_000;
/** Messages that are on their way to one channel at once: one that hangs does not delay those of others. */
const MOST_SENDING = 50;
/** A row that is being sent is not taken again for this long; then its sender counts as dead. */
const SENDING_MS = 60_000;
const MAX_PAUSE_S = 300;
/** A message that fails on a connection which has lasted for so long holds nothing up for its sake: others arrive. */
const STEADY_MS = 300_000;
/** How long a drain and a stop wait for what is being sent. */
const PATIENCE_MS = 2_000;
/** After about a day of pauses of five minutes a reply is marked as failed; it stays readable by its turn id. */
const MAX_ATTEMPTS = 300;

/**
 * What was written, or handed to a channel (`sent_at`), later than now was so before the database's clock was set back: the pause that
 * was meant then begins now. What is on its way at that moment is therefore not sent a second time.
 */
const SET_BACK = `/* outbox:set-back */ update outbox set created_at = least(created_at, now()),
    next_attempt_at = now() + (next_attempt_at - greatest(created_at, sent_at)),
    sent_at = case when sent_at > now() then now() else sent_at end
  where state = 'pending' and greatest(created_at, sent_at) > now()`;

/**
 * What is on its way is due again within $2 milliseconds; what is due later was tried, and waits. The attempt that comes early is not one
 * of the last ones.
 */
const CONNECTED = `/* outbox:connected */ update outbox set next_attempt_at = now(), attempts = attempts - 1
  where state = 'pending' and channel = $1 and last_error like '${UNREACHABLE}%' and next_attempt_at > now() + $2 * interval '1 millisecond'`;

export function createOutbox({ database, channels, attachments, connectedMs, logger }: OutboxDeps): Outbox {
  let timer: NodeJS.Timeout | null = null;
  let taking: Promise<void> | null = null;
  let again = false;
  let stopping = false;
  /** Rows that this process sends, and until when, by the monotonic clock, it takes none of them again: a clock that jumps ends no send. */
  const claimed = new Map<string, number>();
  const sending = new Map<string, Set<Promise<void>>>([...channels.keys()].map((id) => [id, new Set()]));

  /**
   * Of a turn and of a conversation the oldest message alone, so that all are sent in their order, by whichever node. What waits is read once
   * and in one order: a join of it with itself takes seconds where there is much, as after an outage.
   */
  async function take(ready: readonly string[]): Promise<readonly OutboxRow[]> {
    const own = [...claimed].flatMap(([id, endsAt]) => (endsAt > performance.now() ? [id] : []));
    const { rows } = await database.query<OutboxRow>(
      `/* outbox:take */ with waiting as materialized (
         select id, seq, next_attempt_at, created_at, last_error, channel, payload->>'conversation' as conversation,
           min(seq) over (partition by channel, payload->>'conversation', turn_id) as first_of_turn
         from outbox where state = 'pending' and channel = any($1::text[])
       ), ordered as (
         select *, min(seq) filter (where ${HOLDS_UP} and seq = first_of_turn) over (partition by channel, conversation) as holding
         from waiting
       ), due as (
         select id, unsure from outbox where state = 'pending' and next_attempt_at <= now() and id = any(array(
           select id from ordered where next_attempt_at <= now() and seq = first_of_turn and seq <= coalesce(holding, seq)
             and id <> all($4::uuid[])
           order by next_attempt_at, seq limit $3))
         for update skip locked)
       update outbox o set attempts = attempts + 1, unsure = true, sent_at = now(), next_attempt_at = now() + $2 * interval '1 millisecond'
       from due where o.id = due.id
       returning o.id, turn_id, channel, agent, payload, attempts, platform_ids, draft_ids, due.unsure`,
      [ready, SENDING_MS, MOST_SENDING, own],
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
    const sentBefore = editResult(row.platform_ids);
    const draft = shownDraft(row.draft_ids);
    let isAsked = false;
    try {
      const files = await load(row.payload.attachments ?? [], row.turn_id);
      const notice = [row.payload.notice, ...files.missing].filter((line) => line !== null).join(" ");
      isAsked = true;
      const sent = await channels.get(row.channel)?.send(
        {
          address: { channel: row.channel, conversation, user },
          agent: row.agent,
          turnId: row.turn_id,
          id: row.id,
          text,
          ...(notice === "" ? {} : { notice }),
          ...(question ? { question } : {}),
          ...(files.found.length === 0 ? {} : { attachments: files.found }),
          ...(sentBefore === null ? {} : { sent: sentBefore }),
          ...(draft === null ? {} : { draft }),
          ...(row.unsure ? { mayRepeat: true } : {}),
        },
        async (parts) => {
          claimed.set(row.id, performance.now() + SENDING_MS);
          await database.query(
            // The claim lasts from the last part on: what takes long in all is no sender that has died.
            `/* outbox:keep */ update outbox set platform_ids = $2::text[], sent_at = now(), next_attempt_at = now() + $3 * interval '1 millisecond'
             where id = $1 and state = 'pending'`,
            [row.id, idsOf(parts), SENDING_MS],
            { durable: false },
          );
        },
      );
      const { rows } = await database.query<{ more: boolean }>(
        `/* outbox:sent */ update outbox o set state = 'sent', sent_at = now(), platform_ids = coalesce($2::text[], platform_ids)
         where id = $1 returning exists (select 1 from outbox p where p.channel = o.channel and p.state = 'pending' and p.id <> o.id
           and p.payload->>'conversation' = o.payload->>'conversation') as more`,
        [row.id, sent ? idsOf(sent) : null],
        { durable: false },
      );
      if (rows[0]?.more) kick();
    } catch (error) {
      const { code = undefined, retryable = true, details = {} } = error instanceof CairnError ? error : {};
      const isAskedToWait = details.retryAfterS !== undefined;
      const isUnreachable = code === "CHANNEL_CONNECTION_LOST" && connectedMs(row.channel) < STEADY_MS;
      const waitsFor = isAskedToWait ? ASKED : isUnreachable ? UNREACHABLE : "";
      const isFinal = row.attempts >= MAX_ATTEMPTS || !retryable;
      // As long as the platform asks for, where that is longer.
      const pauseS = Math.max(Math.min(2 ** Math.min(row.attempts, 16), MAX_PAUSE_S), details.retryAfterS ?? 0);
      logger.warn(
        { err: error, channel: row.channel, turnId: row.turn_id, attempts: row.attempts, isFinal },
        "a reply could not be sent",
      );
      await database.query(
        `/* outbox:failed */ update outbox set state = $2, last_error = $3, sent_at = now(), next_attempt_at = now() + $4 * interval '1 second', unsure = $5
         where id = $1 and state = 'pending'`,
        [
          row.id,
          isFinal ? "failed" : "pending",
          `${waitsFor}${error instanceof Error ? error.message : String(error)}`,
          pauseS,
          row.unsure || (isAsked && !details.notTaken),
        ],
      );
    }
  }

  async function tick(): Promise<void> {
    await database
      .query(SET_BACK, [], { durable: false })
      .catch((err: unknown) => logger.warn({ err }, "the times of replies could not be compared with the clock"));
    kick();
  }

  async function round(): Promise<void> {
    try {
      for (;;) {
        const ready = [...sending].flatMap(([id, { size }]) => (size < MOST_SENDING ? [id] : []));
        const rows = ready.length === 0 ? [] : await take(ready);
        for (const row of rows) {
          claimed.set(row.id, performance.now() + SENDING_MS);
          const messages = sending.get(row.channel);
          const work = send(row)
            .catch((err: unknown) =>
              logger.warn({ err, turnId: row.turn_id }, "the state of a reply could not be stored"),
            )
            .finally(() => {
              claimed.delete(row.id);
              messages?.delete(work);
              // What had no room may be waiting.
              if (messages?.size === MOST_SENDING - 1) kick();
            });
          messages?.add(work);
        }
        if (rows.length < MOST_SENDING || stopping) return;
      }
    } catch (error) {
      logger.warn({ err: error }, "the outbox could not be read");
    }
  }

  function kick(): void {
    if (stopping) return;
    if (taking) {
      again = true;
      return;
    }
    taking = round().finally(() => {
      taking = null;
      if (again) {
        again = false;
        kick();
      }
    });
  }

  async function idle(): Promise<void> {
    for (;;) {
      const work = [...(taking ? [taking] : []), ...[...sending.values()].flatMap((messages) => [...messages])];
      if (work.length === 0) return;
      await Promise.all(work);
    }
  }

  return {
    start() {
      timer = setInterval(() => void tick(), TICK_MS);
      void tick();
    },
    kick,
    async connected(channel) {
      try {
        await database.query(CONNECTED, [channel, SENDING_MS], { durable: false });
      } catch (err) {
        logger.warn({ err, channel }, "replies that wait for a connection are sent when their pauses end");
      }
      kick();
    },
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

function editResult([primary, ...overflow]: readonly string[]): EditResult | null {
  return primary === undefined ? null : { primary, overflow };
}

function shownDraft(ids: readonly string[]): ShownDraft | null {
  const heard = ids.filter((id) => id !== UNHEARD);
  const draft = editResult(heard);
  return draft && heard.length < ids.length ? { ...draft, unheard: true } : draft;
}

function idsOf({ primary, overflow }: EditResult): string[] {
  return [primary, ...overflow];
}
