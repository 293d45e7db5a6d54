import type { Queryable } from "../../contracts/database.ts";
import {
  type RowSession,
  SELF_TEST_SESSION,
  type SessionKind,
  type SessionRecord,
  type SessionsQuery,
} from "../../contracts/reading.ts";
import { Values } from "./sql.ts";

/** The sessions of the memory, those that were written to last first. */

/** Characters of the words that a session without a title begins with. */
const FIRST_WORDS = 120;

interface Row extends Omit<SessionRecord, "created_at" | "last_at"> {
  readonly created_at: Date;
  readonly last_at: Date;
}

/** What is one line of the list. */
const LINE: Readonly<Record<SessionKind, string>> = { session: "session_key", conversation: "id::text" };

/** SQL of the columns of a conversation `c` that say which one it is. */
export const SESSION_COLUMNS = `c.session_key, c.id as conversation_id, c.channel_id as name, c.agent, c.channel,
  c.user_id as "user", c.opened_by`;

/** Counts messages only of the lines that are listed: each has an index of them. */
export async function listSessions(
  database: Queryable,
  { of, agent, limit }: SessionsQuery,
): Promise<readonly SessionRecord[]> {
  const values = new Values();
  const conditions = [
    ...(agent === undefined ? [] : [`agent = ${values.add(agent)}`]),
    ...(of === "session"
      ? ["opened_by = 'turn'", `not starts_with(coalesce(channel_id, ''), ${values.add(SELF_TEST_SESSION)})`]
      : []),
  ];
  const { rows } = await database.query<Row>(
    `/* memory:sessions */ with listed as (
       select ${LINE[of]} as line, array_agg(id order by created_at desc, id desc) as ids, max(updated_at) as changed_at,
         min(created_at) as created_at
       from conversations ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`}
       group by 1 order by changed_at desc, line limit ${values.add(limit)}
     )
     select ${SESSION_COLUMNS}, cardinality(listed.ids) as conversations,
       (select count(*)::int from messages m where m.conversation_id = any(listed.ids)) as messages,
       left(coalesce(nullif(c.title, ''), (
         select m.content from messages m
         where m.conversation_id = c.id and m.role = 'user' and m.content <> '' order by m.seq limit 1
       )), ${FIRST_WORDS}) as title,
       c.settings->>'model' as model, listed.created_at,
       coalesce((
         select max(last.created_at) from unnest(listed.ids) as one (id) cross join lateral (
           select m.created_at from messages m where m.conversation_id = one.id order by m.seq desc limit 1) as last
       ), listed.changed_at) as last_at
     from listed join conversations c on c.id = listed.ids[1]
     order by listed.changed_at desc, listed.line`,
    values.list,
  );
  return rows.map(({ created_at, last_at, ...row }) => ({
    ...row,
    created_at: created_at.toISOString(),
    last_at: last_at.toISOString(),
  }));
}

/** Null for a conversation that does not exist. */
export async function sessionOf(database: Queryable, conversationId: string): Promise<RowSession | null> {
  const { rows } = await database.query<RowSession>(
    `/* memory:session */ select ${SESSION_COLUMNS} from conversations c where c.id = $1`,
    [conversationId],
  );
  return rows[0] ?? null;
}
