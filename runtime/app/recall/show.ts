import type { Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Visibility } from "../../contracts/memory.ts";
import type { ShownRow, SummaryRecord } from "../../contracts/reading.ts";
import type { MessageRecord } from "../../contracts/records.ts";
import type { Recover } from "./disk/recover.ts";
import { getFull, whenForgotten } from "./full.ts";
import { sessionOf } from "./sessions.ts";

/** One row of the memory, message or summary, whole, with what stands around it. */

export interface ShowRequest {
  /** A UUID, or the beginning of one. */
  readonly id: string;
  /** Neighbours on each side of a message. */
  readonly around: number;
  readonly signal?: AbortSignal | undefined;
}

/** Of a summary: as many sources and children are shown. */
const MOST_BELOW = 100;
/** Ids that an ambiguous beginning names. */
const MOST_NAMED = 5;
/** The routes show the whole memory. */
const EVERYTHING: Visibility = { all: true };

const MESSAGE = `m.id, m.conversation_id, m.agent, m.channel, m.role, m.content, m.tool_name, m.tool_args, m.tool_result,
  m.metadata, m.created_at`;
const SUMMARY = `s.id, s.conversation_id, s.parent_id, s.depth, s.kind as summary_kind, s.content, s.message_count,
  s.earliest_at, s.latest_at, s.model, s.created_at`;

/** MEMORY_NOT_FOUND where no row has the id, MEMORY_INVALID_ARGUMENT where the ids of several begin with it. */
export async function showRow(
  database: Queryable,
  { id, around, signal }: ShowRequest,
  recover: Recover | undefined,
): Promise<ShownRow> {
  const found = await rowBeginningWith(database, id);
  if (found.kind === "summary") return showSummary(database, found.id);
  const [shown, full] = await Promise.all([
    showMessage(database, found.id, around),
    getFull(database, found.id, { visibility: EVERYTHING, recover, signal }),
  ]);
  const { content, tool_args, tool_result } = full;
  const message = { ...shown.message, content, tool_args, tool_result };
  return { ...shown, message, missing: full.recovered ? null : (full.reason ?? null) };
}

/** Ids are compared as UUIDs, so that the index of the primary key finds those in the span of a beginning. */
async function rowBeginningWith(
  database: Queryable,
  given: string,
): Promise<{ readonly kind: "message" | "summary"; readonly id: string }> {
  const digits = given.toLowerCase().replaceAll("-", "");
  const span = [digits.padEnd(32, "0"), digits.padEnd(32, "f")];
  const branch = (kind: string, table: string) =>
    `(select '${kind}' as kind, id, created_at from ${table} where id between $1::uuid and $2::uuid order by id limit ${MOST_NAMED + 1})`;
  const { rows } = await database.query<{ kind: "message" | "summary"; id: string; created_at: Date }>(
    `/* memory:find */ ${branch("message", "messages")} union all ${branch("summary", "summaries")} order by id`,
    span,
  );
  const [first, second] = rows;
  if (first === undefined) {
    const forgotten = digits.length === 32 ? await whenForgotten(database, digits) : null;
    if (forgotten !== null) throw new MemoryError("MEMORY_NOT_FOUND", forgotten);
    throw new MemoryError("MEMORY_NOT_FOUND", `There is no message and no summary with the id ${given}.`, {
      hint: "`cairn memory search` and `cairn memory browse` print ids.",
    });
  }
  if (second === undefined) return first;
  const named = rows.slice(0, MOST_NAMED).map(({ kind, id, created_at: at }) => {
    return `  ${id}  ${kind} of ${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  });
  const lines = [`Several ids begin with ${given}:`, ...named, ...(rows.length > named.length ? ["  …"] : [])];
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", lines.join("\n"));
}

async function showMessage(database: Queryable, id: string, around: number) {
  const { rows } = await database.query<MessageRow & { side: number }>(
    `/* memory:around */ with wanted as (select * from messages where id = $1)
     select 0 as side, m.seq, ${MESSAGE} from wanted m
     union all (select -1, m.seq, ${MESSAGE} from messages m
       where m.conversation_id = (select conversation_id from wanted) and m.seq < (select seq from wanted)
       order by m.conversation_id desc, m.seq desc limit $2)
     union all (select 1, m.seq, ${MESSAGE} from messages m
       where m.conversation_id = (select conversation_id from wanted) and m.seq > (select seq from wanted)
       order by m.conversation_id, m.seq limit $2)
     order by seq`,
    [id, around],
  );
  const on = (wanted: number) => rows.filter(({ side }) => side === wanted).map(messageOf);
  const [message] = on(0);
  const session = message && (await sessionOf(database, message.conversation_id));
  if (!message || !session) throw new MemoryError("MEMORY_NOT_FOUND", "The message is not there any more.");
  return { kind: "message" as const, session, message, before: on(-1), after: on(1) };
}

async function showSummary(database: Queryable, id: string): Promise<ShownRow> {
  const [own, below, sources] = await Promise.all([
    database.query<SummaryRow>(`/* memory:summary */ select ${SUMMARY} from summaries s where s.id = $1`, [id]),
    database.query<SummaryRow>(
      `/* memory:children */ select ${SUMMARY} from summaries s where s.parent_id = $1 order by s.earliest_at, s.seq limit ${MOST_BELOW}`,
      [id],
    ),
    database.query<MessageRow>(
      `/* memory:sources */ select m.seq, ${MESSAGE} from summary_sources link join messages m on m.id = link.message_id
       where link.summary_id = $1 order by link.ordinal, m.seq limit ${MOST_BELOW}`,
      [id],
    ),
  ]);
  const [summary] = own.rows.map(summaryOf);
  if (summary === undefined) throw new MemoryError("MEMORY_NOT_FOUND", "The summary is not there any more.");
  return {
    kind: "summary",
    session: summary.conversation_id === null ? null : await sessionOf(database, summary.conversation_id),
    summary,
    children: below.rows.map(summaryOf),
    sources: sources.rows.map(messageOf),
  };
}

interface MessageRow extends Omit<MessageRecord, "created_at"> {
  readonly seq: number;
  readonly created_at: Date;
}

interface SummaryRow extends Omit<SummaryRecord, "earliest_at" | "latest_at" | "created_at"> {
  readonly earliest_at: Date | null;
  readonly latest_at: Date | null;
  readonly created_at: Date;
}

function messageOf(row: MessageRow): MessageRecord {
  const { id, conversation_id, agent, channel, role, content, tool_name, tool_args, tool_result, metadata } = row;
  const created_at = row.created_at.toISOString();
  return {
    id,
    conversation_id,
    agent,
    channel,
    role,
    content,
    tool_name,
    tool_args,
    tool_result,
    metadata,
    created_at,
  };
}

function summaryOf({ earliest_at, latest_at, created_at, ...row }: SummaryRow): SummaryRecord {
  return {
    ...row,
    earliest_at: earliest_at?.toISOString() ?? null,
    latest_at: latest_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}
