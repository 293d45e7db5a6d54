import type { Transaction } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Values } from "../recall/sql.ts";

/** What inbox, turns, steps and outbox keep of messages for a week: their texts go, and the keys that recognize a repeated delivery stay. */

const OPEN = "('queued', 'running', 'waiting')";

/** RUNTIME_CONFLICT while a turn works, or is to work, in a session of the selected messages: it holds what was said. */
export async function refuseOpenTurns(tx: Transaction, condition: string, values: Values): Promise<void> {
  const { rows } = await tx.query<{ readonly agent: string }>(
    `/* forget:open */ select t.agent from turns t where t.state in ${OPEN} and exists (
       select from messages m join conversations c on c.id = m.conversation_id
       where c.session_key = t.session_key and (${condition})) limit 1`,
    values.list,
  );
  const [open] = rows;
  if (open !== undefined) throw stillOpen(open.agent);
}

/** The ended turns of inbox rows `i` under the condition, with attachments that nothing else names. RUNTIME_CONFLICT for an open one. */
export async function eraseTurns(
  tx: Transaction,
  condition: string,
  values: Values,
): Promise<{ readonly turns: number; readonly attachments: number }> {
  const { rows } = await tx.query<TurnRow>(
    `/* forget:turns */ select t.id, i.id as inbox_id, t.agent, t.state in ${OPEN} as open,
       i.attachments || coalesce((select jsonb_agg(file) from outbox o, jsonb_array_elements(
         case when jsonb_typeof(o.payload -> 'attachments') = 'array' then o.payload -> 'attachments' else '[]' end) as file
         where o.turn_id = t.id), '[]') as files
     from turns t join inbox i on i.id = t.inbox_id where ${condition} order by t.id for update of t, i`,
    values.list,
  );
  const open = rows.find((row) => row.open);
  if (open !== undefined) throw stillOpen(open.agent);
  if (rows.length === 0) return { turns: 0, attachments: 0 };
  const ids = rows.map(({ id }) => id);
  for (const table of ["turn_steps", "turn_steers", "turn_questions", "outbox", "drafts"]) {
    await tx.query(`delete from ${table} where turn_id = any($1::uuid[])`, [ids]);
  }
  await eraseApprovals(tx, ids);
  await tx.query(
    "update turns set reply = '', notice = null, error = error - 'message' - 'hint' where id = any($1::uuid[])",
    [ids],
  );
  await tx.query("update schedules set error = null where turn_id = any($1::uuid[])", [ids]);
  await tx.query("update inbox set text = '', attachments = '[]', history = '[]' where id = any($1::uuid[])", [
    rows.map((row) => row.inbox_id),
  ]);
  const hashes = rows.flatMap(({ files }) => files.map(({ sha256 }) => sha256));
  return { turns: rows.length, attachments: await eraseAttachments(tx, hashes) };
}

/** What stands of these turns repeats what was said in them. */
export async function eraseApprovals(tx: Transaction, turns: readonly string[]): Promise<void> {
  await tx.query("/* forget:approvals */ delete from approvals where turn_id::text = any($1::text[])", [turns]);
}

interface TurnRow {
  readonly id: string;
  readonly inbox_id: string;
  readonly agent: string;
  readonly open: boolean;
  readonly files: readonly { readonly sha256: string }[];
}

/** Those of the hashes that no row names any more; call it when the rows that did are erased. */
export async function eraseAttachments(tx: Transaction, hashes: readonly string[]): Promise<number> {
  if (hashes.length === 0) return 0;
  const { rows } = await tx.query<{ readonly n: number }>(
    `/* forget:attachments */ with gone as (
       delete from attachments a using unnest($1::text[]) as given (sha256)
       where a.sha256 = given.sha256
         and not exists (select from inbox i where i.attachments @> jsonb_build_array(jsonb_build_object('sha256', given.sha256)))
         and not exists (select from outbox o
           where o.payload -> 'attachments' @> jsonb_build_array(jsonb_build_object('sha256', given.sha256)))
         and not exists (select from messages m
           where m.metadata -> 'attachments' @> jsonb_build_array(jsonb_build_object('sha256', given.sha256)))
       returning a.sha256
     ) select count(distinct sha256)::int as n from gone`,
    [[...new Set(hashes)]],
  );
  return rows[0]?.n ?? 0;
}

function stillOpen(agent: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_CONFLICT",
    `A turn of the agent "${agent}" in one of these sessions has not ended.`,
    {
      hint: "Wait for its end, or end it with /stop; then forget again.",
    },
  );
}
