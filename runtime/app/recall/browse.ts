import type { Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Role } from "../../contracts/message.ts";
import type { MessageRecord } from "../../contracts/records.ts";
import { narrowed, type Position, walk } from "./browse-walk.ts";
import { type Filters, messageConditions } from "./filters.ts";
import { Values } from "./sql.ts";

/** memory_browse: messages in the order of time, page by page. */

export interface BrowseRequest {
  readonly conversationId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly channel?: string | undefined;
  readonly role?: Role | undefined;
  readonly filters: Filters;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface BrowsePage {
  /** May be fewer than asked for, or none, before the end: see `looked_until`. */
  readonly messages: readonly MessageRecord[];
  /** Null at the end. */
  readonly next_cursor: string | null;
  /** Where rows that all filters let through are so rare that the page ended before it was full: how far it has looked. */
  readonly looked_until?: string;
}

interface Row extends Omit<MessageRecord, "created_at">, Position {
  readonly created_at: Date;
}

const COLUMNS = `m.id, m.conversation_id, m.agent, m.channel, m.role, m.content, m.tool_name, m.tool_args, m.tool_result,
  m.metadata, m.created_at, m.seq,
  to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position`;

const POSITION = /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;

/**
 * Ordered by created_at and then by insertion. MEMORY_INVALID_ARGUMENT for a cursor that no page gave out; MEMORY_TIMEOUT for
 * filters each of which lets many rows through and all of them together hardly any, where they cannot be walked.
 */
export async function browse(database: Queryable, request: BrowseRequest): Promise<BrowsePage> {
  const from = request.cursor === undefined ? undefined : decodeCursor(request.cursor);
  try {
    return await (isWalked(request) ? walkedPage(database, request, from) : pageOf(database, request, from));
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code !== "MEMORY_TIMEOUT") throw error;
    throw new MemoryError("MEMORY_TIMEOUT", "The messages that all filters let through were not found in time.", {
      hint: "Ask for one session (session_key or conversation_id), for a span of time, or with fewer filters.",
      cause: error,
    });
  }
}

/** Of one session, or of one user, the conversations lead to the rows. */
function isWalked(request: BrowseRequest): boolean {
  const { conversationId, sessionKey, filters } = request;
  const ofAll = filters.visibility === undefined || "all" in filters.visibility;
  return ofAll && conversationId === undefined && sessionKey === undefined && narrowed(equalOf(request)).length > 1;
}

function equalOf({ channel, role, filters: { agent } }: BrowseRequest) {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(role === undefined ? {} : { role }),
    ...(channel === undefined ? {} : { channel }),
  };
}

async function walkedPage(
  database: Queryable,
  request: BrowseRequest,
  from: Position | undefined,
): Promise<BrowsePage> {
  const { filters, order, limit } = request;
  const { ids, stoppedAt } = await walk(database, { equal: equalOf(request), filters, order, from, limit: limit + 1 });
  const { rows } = await database.query<Row>(
    `select ${COLUMNS} from messages m where m.id = any($1::uuid[]) order by m.created_at ${order}, m.seq ${order}`,
    [ids],
  );
  if (stoppedAt === null) return pageFrom(rows, limit);
  const lookedUntil = new Date(stoppedAt.position).toISOString();
  return { messages: rows.map(recordOf), next_cursor: encodeCursor(stoppedAt), looked_until: lookedUntil };
}

async function pageOf(database: Queryable, request: BrowseRequest, from: Position | undefined): Promise<BrowsePage> {
  const values = new Values();
  const conditions: string[] = [];
  const { conversationId, sessionKey, channel, role, order, limit } = request;
  if (conversationId !== undefined) conditions.push(`m.conversation_id = ${values.add(conversationId)}::uuid`);
  if (sessionKey !== undefined) {
    conditions.push(
      `m.conversation_id in (select id from conversations where session_key = ${values.add(sessionKey)})`,
    );
  }
  if (channel !== undefined) conditions.push(`m.channel = ${values.add(channel)}`);
  if (role !== undefined) conditions.push(`m.role = ${values.add(role)}`);
  if (from !== undefined) {
    const beyond = order === "asc" ? ">" : "<";
    conditions.push(
      `(m.created_at, m.seq) ${beyond} (${values.add(from.position)}::timestamptz, ${values.add(from.seq)}::bigint)`,
    );
  }
  const { rows } = await database.query<Row>(
    `select ${COLUMNS}
     from messages m
     where true${conditions.map((one) => ` and ${one}`).join("")}${messageConditions(request.filters, values)}
     order by m.created_at ${order}, m.seq ${order} limit ${values.add(limit + 1)}`,
    values.list,
  );
  return pageFrom(rows, limit);
}

/** Of one row more than there is room for, where there are more. */
function pageFrom(rows: readonly Row[], limit: number): BrowsePage {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    messages: page.map(recordOf),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(last) : null,
  };
}

function recordOf({ position: _position, seq: _seq, created_at, ...row }: Row): MessageRecord {
  return { ...row, created_at: created_at.toISOString() };
}

function encodeCursor({ position, seq }: Position): string {
  return Buffer.from(JSON.stringify([position, seq])).toString("base64url");
}

function decodeCursor(cursor: string): Position {
  try {
    const [position, seq] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as [unknown, unknown];
    if (typeof position === "string" && POSITION.test(position) && Number.isSafeInteger(seq)) {
      return { position, seq: Number(seq) };
    }
  } catch {
    // Falls through to the error that says what is wrong.
  }
  const issues = [{ path: "cursor", message: "is not a cursor of an earlier page" }];
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", "The cursor is not one of an earlier page.", { issues });
}
