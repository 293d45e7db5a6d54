/** The inbox: a message is on disk, with its turn in line, before the channel that brought it goes on. */

import { createHash } from "node:crypto";
import type { AcceptedMessage, EarlierMessage, InboundMessage, MessageIdentity } from "../../contracts/channel.ts";
import type { Database, Queryable } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { NewId } from "../../contracts/ports.ts";
import { sanitize } from "../../domain/cap.ts";
import { sessionKey } from "../../domain/session-key.ts";
import { writeAttachments } from "../attachments/chunks.ts";
import { type AttachmentRef, toReceived } from "../attachments/refs.ts";
import { assertSize, holderOf, type QueueLimits, type Refused, tooManyWait } from "./message-limits.ts";

/** What became of a message, whose agent is known. */
export type InboxEntry = Omit<AcceptedMessage, "agent">;

export interface Inbox {
  /**
   * RUNTIME_CONFLICT when the same key comes with another body; RUNTIME_RATE_LIMITED when too many turns of the user or of all
   * users wait, which the owner never meets. `priority` above 0 goes ahead of the session's queue.
   */
  accept(message: InboundMessage, priority?: number): Promise<InboxEntry>;
  /** Which of the agents was given this message before; undefined: none. */
  agentOf(message: InboundMessage, agents: readonly string[]): Promise<string | undefined>;
  /** What was accepted under the key of such a message; RUNTIME_CONFLICT where it was another one. */
  find(identity: MessageIdentity): Promise<EarlierMessage | null>;
}

export function createInbox({
  database,
  limits,
  newId,
}: {
  database: Database;
  limits: QueueLimits;
  newId: NewId;
}): Inbox {
  return {
    async accept(inbound, priority = 0) {
      const message = storable(inbound);
      assertNames(message);
      assertSize(message, limits);
      const received = (message.attachments ?? []).map(toReceived);
      const refs = received.map(({ ref }) => ref);
      const bodyHash = hashBody(message, refs);
      const values = [
        message.address.channel,
        message.agent,
        message.address.conversation,
        message.externalId,
        message.address.user,
        message.owner,
        limits.maxOpenOfOthers,
        limits.maxOpenOfOneUser,
        newId(),
        newId(),
        bodyHash,
        sessionKey({ agent: message.agent, ...message.address }),
        message.text,
        JSON.stringify(refs),
        JSON.stringify(message.history ?? []),
        message.sentAt ?? null,
        priority,
        message.task ? JSON.stringify(message.task.chain) : null,
        message.task?.deadlineMs ?? null,
      ];
      const write = async (store: Queryable) =>
        acceptedOf((await store.query<AcceptRow>(ACCEPT, values)).rows, bodyHash, limits);
      // In one transaction: a message without its attachments is never seen, and no attachment stays without a message.
      const writeWithAttachments = () =>
        database.transaction(async (tx) => {
          const accepted = await write(tx);
          if (accepted?.fresh) await writeAttachments(tx, received);
          return accepted;
        });
      // Twice: a key that another transaction has just taken is not yet visible to the statement that met it.
      for (let attempt = 0; attempt < 2; attempt++) {
        const accepted = await (received.length === 0 ? write(database) : writeWithAttachments());
        if (accepted) return accepted;
      }
      throw new RuntimeError("RUNTIME_NOT_READY", "The message could not be accepted; send it again.");
    },
    async agentOf(inbound, agents) {
      const { address, externalId } = storable(inbound);
      const { rows } = await database.query<{ agent: string }>(
        `/* inbox:agent */ select agent from inbox
         where channel = $1 and agent = any($2::text[]) and conversation = $3 and external_id = $4 limit 1`,
        [address.channel, agents, address.conversation, externalId],
      );
      return rows[0]?.agent;
    },
    async find(identity) {
      const message = storable({ ...identity, text: "", owner: false });
      assertNames(message);
      const { channel, conversation } = message.address;
      const { rows } = await database.query<{ turn_id: string; body_hash: string; text: string }>(FIND, [
        channel,
        message.agent,
        conversation,
        message.externalId,
      ]);
      const row = rows[0];
      if (row === undefined) return null;
      if (row.body_hash !== hashBody(message, [])) throw anotherMessage(row.turn_id);
      return { turnId: row.turn_id, text: row.text };
    },
  };
}

type AcceptRow =
  | { readonly turn_id: string; readonly body_hash: string; readonly fresh: boolean }
  | { readonly turn_id: null; readonly refused: Refused };

/** Null where the database says neither that the message is accepted nor that it is refused. */
function acceptedOf(rows: readonly AcceptRow[], bodyHash: string, limits: QueueLimits): InboxEntry | null {
  // A message that was accepted before has its answer, however many wait.
  const row = rows.find((candidate) => candidate.turn_id !== null) ?? rows[0];
  if (!row) return null;
  if (row.turn_id === null) throw tooManyWait(row.refused, limits);
  if (row.body_hash !== bodyHash) {
    throw anotherMessage(row.turn_id);
  }
  return { turnId: row.turn_id, fresh: row.fresh };
}

function anotherMessage(turnId: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", "Another message was accepted under this idempotency key.", {
    turnId,
    hint: "Use a new key for a new message.",
  });
}

const FIND = `/* inbox:find */ select t.id as turn_id, i.body_hash, i.text from inbox i join turns t on t.inbox_id = i.id
  where i.channel = $1 and i.agent = $2 and i.conversation = $3 and i.external_id = $4`;

/**
 * At most so many rows are counted as may wait in all, and for the owner none. Messages that arrive in the same moment do not
 * see each other, so that a limit can be passed by as many as the database takes at once.
 */
const WAITING = `waiting as (
    select case when count(*) filter (where channel = $1 and ${holderOf("user_id")} = ${holderOf("$5::text")}) >= $8 then 'holder'
                when count(*) >= $7 then 'all' end as refused
    from (select channel, user_id from inbox where not owner and done_at is null and not $6::boolean order by seq limit $7) open)`;

const ANSWERED = `select t.id as turn_id, i.body_hash, false as fresh, null as refused from inbox i join turns t on t.inbox_id = i.id
  where i.channel = $1 and i.agent = $2 and i.conversation = $3 and i.external_id = $4
  union all
  select null, null, false, refused from waiting where refused is not null`;

const ACCEPT = `/* inbox:accept */ with ${WAITING},
  fresh as (
    insert into inbox (id, channel, agent, conversation, user_id, external_id, body_hash, session_key, text, attachments, history, owner, sent_at,
      chain, deadline)
    select $9, $1, $2, $3, $5, $4, $11, $12, $13, $14, $15, $6, $16, $18, now() + $19::float8 * interval '1 millisecond' from waiting where refused is null
    on conflict (channel, agent, conversation, external_id) do nothing
    returning id, seq, session_key, agent, body_hash),
  queued as (
    insert into turns (id, inbox_id, seq, priority, session_key, agent)
    select $10, id, seq, $17, session_key, agent from fresh
    returning id)
  select queued.id as turn_id, fresh.body_hash, true as fresh, null as refused from queued, fresh
  union all
  ${ANSWERED}`;

/** The names of a message stand in index entries, which hold 2,700 bytes; percent-encoding makes them longer. */
const LONGEST_KEY = 2_000;

function assertNames({ agent, address, externalId }: InboundMessage): void {
  const key = sessionKey({ agent, ...address });
  const names = Buffer.byteLength(address.channel + agent + address.conversation + externalId);
  if (Buffer.byteLength(key) <= LONGEST_KEY && names <= LONGEST_KEY && Buffer.byteLength(address.user) <= 1_000) return;
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The names of session, user and message are too long together.", {
    hint: "Use shorter names; letters outside ASCII count nine times in a session's key.",
  });
}

/** What PostgreSQL does not store is replaced: never a reason to refuse a message, or to lose it later. */
function storable(message: InboundMessage): InboundMessage {
  const { channel, conversation, user } = message.address;
  return {
    ...message,
    address: { channel, conversation: sanitize(conversation), user: sanitize(user) },
    externalId: sanitize(message.externalId),
    text: sanitize(message.text),
    ...(message.attachments
      ? { attachments: message.attachments.map((file) => ({ ...file, name: sanitize(file.name) })) }
      : {}),
    ...(message.history
      ? { history: message.history.map((said) => ({ ...said, content: sanitize(said.content) })) }
      : {}),
  };
}

/** Text, attachments, sender and what was said before: the same key with the same hash is the same message. */
function hashBody(message: InboundMessage, attachments: readonly AttachmentRef[]): string {
  const { fingerprint, address } = message;
  const body =
    fingerprint === undefined
      ? [
          message.text,
          address.user,
          attachments.map((ref) => [ref.sha256, ref.name, ref.media_type]),
          message.history ?? [],
        ]
      : [fingerprint, address.user];
  return createHash("sha256").update(JSON.stringify(body)).digest("hex");
}
