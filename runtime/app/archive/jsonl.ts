import { z } from "zod";
import type { Database, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import { sanitize } from "../../domain/cap.ts";
import { dedupeKey } from "../../domain/dedupe.ts";
import { issueWords, withoutRepeats } from "../../domain/issue-words.ts";
import { tagIssues } from "../../domain/memory-tags.ts";
import { isBadData, linesOf } from "../../files/memory-archive.ts";
import type { ImportOptions } from "../api.ts";
import { ORIGINS, type WriteEntry } from "../transcript/batch.ts";
import { refuseTurnSession } from "../transcript/turn-sessions.ts";
import { lockSession, type Writer } from "../transcript/writer.ts";

/** Messages as JSON lines, one each, oldest first: to read elsewhere, and to take in through the writer. */

const PAGE = 200;
const ENTRIES = 200;
const UNITS = 2_000_000;

interface ExportedLine {
  readonly line: string;
  readonly position: string;
  readonly seq: number;
}

const PAGE_SQL = `
select m.seq, to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position,
  row_to_json(r)::text as line
from messages m
join conversations c on c.id = m.conversation_id
cross join lateral (
  select m.id, c.session_key, c.user_id as user, c.channel_id, c.bot_identity, c.title, m.conversation_id, c.active,
    c.opened_by, c.by_owner,
    m.agent, m.channel, m.role, m.content, m.tool_name, m.tool_args, m.tool_result, m.metadata, m.created_at,
    (select min(key) from message_keys k where k.message_id = m.id) as key,
    (select row_to_json(kept) from (select p.content, p.tool_args, p.tool_result
      from payloads p where p.message_id = m.id) as kept) as payload
) as r
where m.seq <= $1 and (m.created_at, m.seq) > ($2::timestamptz, $3::bigint)
order by m.created_at, m.seq limit ${PAGE}`;

/** Messages that are written while it runs stay out. */
export async function* exportJsonl(database: Database, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reach = await database.query<{ readonly seq: number }>("select coalesce(max(seq), 0) as seq from messages");
  let position = "-infinity";
  let seq = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { rows } = await database.query<ExportedLine>(PAGE_SQL, [reach.rows[0]?.seq ?? 0, position, seq]);
    if (rows.length > 0) yield Buffer.from(rows.map(({ line }) => `${line}\n`).join(""));
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    ({ position, seq } = last);
  }
}

/** A line of an export; of lines from elsewhere only session_key and role are needed. */
const lineSchema = z.object({
  session_key: z.string().min(1),
  role: z.enum(["user", "assistant", "system", "tool"]),
  content: z.string().default(""),
  agent: z.string().min(1).default("import"),
  channel: z.string().min(1).default("import"),
  id: z.guid().optional(),
  conversation_id: z.guid().optional(),
  active: z.boolean().default(true),
  /** `turn` makes it an agent's own history. */
  opened_by: z.enum(ORIGINS).default("import"),
  by_owner: z.boolean().default(false),
  user: z.string().nullish(),
  channel_id: z.string().nullish(),
  bot_identity: z.string().nullish(),
  title: z.string().nullish(),
  tool_name: z.string().nullish(),
  tool_args: z.unknown().optional(),
  tool_result: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  created_at: z.string().optional(),
  key: z.string().min(1).nullish(),
  event_id: z.string().nullish(),
  payload: z
    .object({ content: z.string().nullish(), tool_args: z.unknown().optional(), tool_result: z.string().nullish() })
    .nullish(),
});
type MessageLine = z.output<typeof lineSchema>;

interface SessionBatch {
  readonly first: MessageLine;
  readonly firstLine: number;
  readonly entries: WriteEntry[];
  units: number;
}

export interface ImportDeps {
  readonly database: Database;
  readonly writer: Writer;
  /** Names of the agents that have turns of their own. */
  readonly agents: ReadonlySet<string>;
}

/**
 * Stores what is not there yet: rows keep their ids, times and conversations. Lines are committed some hundred at a time,
 * and a repeat after a failure skips those. MEMORY_INVALID_ARGUMENT names the line that cannot be read, or may not be stored.
 */
export async function importJsonl(
  deps: ImportDeps,
  bytes: AsyncIterable<Uint8Array>,
  { turnSessions = false }: ImportOptions = {},
): Promise<{ readonly imported: number; readonly skipped: number }> {
  const ordinals = new Map<string, number>();
  let run: SessionBatch | undefined;
  let number = 0;
  let imported = 0;
  let skipped = 0;
  const flush = async () => {
    if (run === undefined) return;
    const inserted = await store(deps, run);
    imported += inserted;
    skipped += run.entries.length - inserted;
    run = undefined;
  };
  for await (const text of linesOf(bytes)) {
    number += 1;
    if (text.trim() === "") continue;
    const line = parse(text, number);
    if (!turnSessions) {
      assertNoTurnSession(line.session_key, number, deps.agents);
      if (line.opened_by === "turn") throw notTurns(number);
    }
    const ordinal = ordinals.get(line.session_key) ?? 0;
    ordinals.set(line.session_key, ordinal + 1);
    if (run !== undefined && (!together(run.first, line) || run.entries.length >= ENTRIES || run.units >= UNITS)) {
      await flush();
    }
    run ??= { first: line, firstLine: number, entries: [], units: 0 };
    run.entries.push(entryOf(line, ordinal));
    run.units += text.length;
  }
  await flush();
  return { imported, skipped };
}

async function store({ database, writer }: ImportDeps, { first, firstLine, entries }: SessionBatch): Promise<number> {
  try {
    const report = await database.transaction(async (tx) => {
      await lockSession(tx, first.session_key);
      if (first.conversation_id !== undefined) await ensureConversation(tx, first, first.conversation_id);
      return writer.writeIn(tx, {
        sessionKey: first.session_key,
        conversationId: first.conversation_id,
        agent: first.agent,
        channel: first.channel,
        channelId: first.channel_id ?? undefined,
        botIdentity: first.bot_identity ?? undefined,
        user: first.user ?? undefined,
        title: first.title ?? undefined,
        openedBy: first.opened_by,
        byOwner: first.by_owner,
        entries: await withFreeIds(tx, entries),
      });
    });
    report.afterCommit();
    return report.rows.filter(({ inserted }) => inserted).length;
  } catch (error) {
    const bad = isBadData(error);
    if (
      !(error instanceof MemoryError) ||
      !(bad || ["MEMORY_INVALID_ARGUMENT", "MEMORY_NOT_FOUND"].includes(error.code))
    ) {
      throw error;
    }
    const why = bad ? "one of them holds a value that cannot be stored" : error.message;
    const message = `The lines from ${firstLine} on cannot be imported: ${why}`;
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", message, {
      cause: error,
      ...(error.details.issues ? { issues: error.details.issues } : {}),
    });
  }
}

/** The conversation of the lines, active only if it was and its session has no other active one. */
async function ensureConversation(tx: Transaction, line: MessageLine, id: string): Promise<void> {
  await tx.query(
    `insert into conversations (id, session_key, agent, channel, channel_id, bot_identity, user_id, title, active, created_at,
       opened_by, by_owner)
     values ($1, $2, $3, $4, $5, $6, coalesce($7, ''), $8,
       $9 and not exists (select 1 from conversations where session_key = $2 and opened_by = $11 and active), coalesce($10::timestamptz, now()),
       $11, $12)
     on conflict (id) do nothing`,
    [
      id,
      ...[line.session_key, line.agent, line.channel].map(sanitize),
      ...[line.channel_id, line.bot_identity, line.user, line.title].map((text) => (text ? sanitize(text) : null)),
      line.active,
      line.created_at ?? null,
      line.opened_by,
      line.opened_by === "turn" && line.by_owner,
    ],
  );
}

/** An id that another row has already stays with that row. */
async function withFreeIds(tx: Transaction, entries: readonly WriteEntry[]): Promise<WriteEntry[]> {
  const ids = entries.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (ids.length === 0) return [...entries];
  const { rows } = await tx.query<{ readonly id: string }>("select id from messages where id = any($1::uuid[])", [ids]);
  const taken = new Set(rows.map(({ id }) => id));
  return entries.map(({ id, ...entry }) => {
    if (id === undefined || taken.has(id.toLowerCase())) return entry;
    taken.add(id.toLowerCase());
    return { ...entry, id };
  });
}

function together(a: MessageLine, b: MessageLine): boolean {
  return (
    a.session_key === b.session_key &&
    a.conversation_id === b.conversation_id &&
    a.opened_by === b.opened_by &&
    a.by_owner === b.by_owner &&
    a.agent === b.agent &&
    a.channel === b.channel
  );
}

function entryOf(line: MessageLine, ordinal: number): WriteEntry {
  const { role, content, tool_name, tool_args, tool_result, payload } = line;
  const said = { role, content, toolName: tool_name, toolArgs: tool_args, toolResult: tool_result };
  return {
    ...said,
    ...(line.id === undefined ? {} : { id: line.id }),
    metadata: line.metadata ?? undefined,
    createdAt: line.created_at,
    key: line.key ?? dedupeKey(said, { domain: "ingest", ordinal, eventId: line.event_id }),
    cap: false,
    ...(payload
      ? {
          payload: {
            content: payload.content ?? undefined,
            toolArgs: payload.tool_args,
            toolResult: payload.tool_result ?? undefined,
          },
        }
      : {}),
  };
}

/** What an agent takes for its own conversation is not for every token to write: see turn-sessions.ts. */
function assertNoTurnSession(sessionKey: string, number: number, agents: ReadonlySet<string>): void {
  const refused = refuseTurnSession(sessionKey, agents);
  if (refused === null) return;
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", `Line ${number}: ${refused.path} ${refused.message}.`, {
    issues: [refused],
    hint: "Only the owner's token imports into such a session.",
  });
}

/** What turns said becomes an agent's own history, of agents that are configured later, too. */
function notTurns(number: number): MemoryError {
  const message = "is `turn`, and history of turns is for the owner's token to import";
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `Line ${number}: opened_by ${message}.`, {
    issues: [{ path: "opened_by", message }],
  });
}

function parse(text: string, number: number): MessageLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", `Line ${number} is not JSON.`, { cause });
  }
  const parsed = lineSchema.safeParse(value);
  const issues = parsed.success
    ? tagIssues({ agent: parsed.data.agent, channel: parsed.data.channel, title: parsed.data.title })
    : withoutRepeats(
        parsed.error.issues.map(({ path, message }) => ({
          path: path.map(String).join("."),
          message: issueWords(message),
        })),
      );
  if (parsed.success && issues.length === 0) return parsed.data;
  const first = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", `Line ${number} is not a message (${first}).`, { issues });
}
