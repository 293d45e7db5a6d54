import type { Database, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { ForgetPreview, ForgetReport, Selection } from "../../contracts/forgetting.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import { sanitize } from "../../domain/cap.ts";
import type { ForgetOptions, Forgetting } from "../api.ts";
import { Values } from "../recall/sql.ts";
import { eraseBatch, STATEMENTS } from "./erase-batch.ts";
import { eraseTurns, refuseOpenTurns } from "./erase-turns.ts";
import { hashOf, selected, selectedTurns } from "./selection.ts";
import { type Wikis, withdrawFromWikis } from "./wikis.ts";

/**
 * The owner's erasure. First all that is selected is listed, with the erasure's row; then batch after batch is erased, each in one
 * transaction. What a killed process has left listed the same command finishes, and so does housekeeping.
 */

export interface ForgettingDeps {
  readonly database: Database;
  readonly newId: NewId;
  readonly clock: Clock;
  /** Of the agents whose workspace this node has. */
  readonly wikis: Wikis;
  /** Called after each erasure: summaries may be due. */
  readonly onErased: () => void;
  readonly logger: Pick<Logger, "info" | "warn">;
}

const SHOWN = 10;
const FIRST_WORDS = 120;
const JOINED = "messages m join conversations c on c.id = m.conversation_id";

export function createForgetting(deps: ForgettingDeps): Forgetting {
  const { database, newId, clock, wikis, onErased, logger } = deps;

  async function run(id: string, signal?: AbortSignal): Promise<void> {
    while (await eraseBatch(database, id)) signal?.throwIfAborted();
    onErased();
    // The pages of a workspace that cannot be written wait for housekeeping; the store has forgotten.
    await withdrawFromWikis(database, wikis, clock.now()).catch((err: unknown) =>
      logger.warn({ err }, "what was forgotten is not out of all wikis yet; it is tried again in an hour"),
    );
  }

  return {
    preview: (selection) => database.transaction((tx) => preview(tx, selection), STATEMENTS),

    async forget(selection, given) {
      const id = (await unfinished(database, selection)) ?? (await begin(selection, given));
      if (id === null) return { id: null, messages: 0, summaries: 0, turns: 0, attachments: 0 };
      await run(id);
      const { rows } = await database.query<ForgetReport>(
        "select id, messages, summaries, turns, attachments from erasures where id = $1",
        [id],
      );
      const [report] = rows;
      if (report === undefined) throw new MemoryError("MEMORY_NOT_FOUND", "The erasure has no row.");
      logger.info({ ...report }, "messages were forgotten");
      return report;
    },

    async finish(signal) {
      const { rows } = await database.query<{ readonly id: string }>(
        "select id from erasures where finished_at is null order by created_at",
      );
      for (const { id } of rows) await run(id, signal);
      await withdrawFromWikis(database, wikis, clock.now());
    },
  };

  /** The list of what is to be erased, in one transaction; null where there is nothing. */
  function begin(selection: Selection, { expected, reason, by }: ForgetOptions): Promise<string | null> {
    return database.transaction(async (tx) => {
      const values = new Values();
      const condition = selected(selection, values);
      await refuseOpenTurns(tx, condition, values);
      const id = newId();
      await tx.query("insert into erasures (id, kind, selector_hash, reason, erased_by) values ($1, $2, $3, $4, $5)", [
        id,
        selection.kind,
        hashOf(selection),
        sanitize(reason),
        by,
      ]);
      const listing = new Values();
      const { count } = await tx.query(
        `/* forget:list */ insert into forgotten (message_id, erasure_id, conversation_id)
         select m.id, ${listing.add(id)}::uuid, m.conversation_id from ${JOINED} where ${selected(selection, listing)}
         on conflict (message_id) do nothing`,
        listing.list,
      );
      if (count !== expected) {
        throw new MemoryError(
          "MEMORY_CONFLICT",
          `${count} messages are selected, not ${expected}: nothing was erased.`,
          {
            hint: "Look again at what would go, and confirm that number.",
          },
        );
      }
      const ofTurns = new Values();
      const turns = selectedTurns(selection, ofTurns);
      const erased = turns === null ? { turns: 0, attachments: 0 } : await eraseTurns(tx, turns, ofTurns);
      if (count === 0 && erased.turns === 0) {
        await tx.query("delete from erasures where id = $1", [id]);
        return null;
      }
      await tx.query("update erasures set turns = $2, attachments = $3 where id = $1", [
        id,
        erased.turns,
        erased.attachments,
      ]);
      return id;
    }, STATEMENTS);
  }
}

async function unfinished(database: Pick<Database, "query">, selection: Selection): Promise<string | null> {
  const { rows } = await database.query<{ readonly id: string }>(
    "select id from erasures where finished_at is null and selector_hash = $1 order by created_at limit 1",
    [hashOf(selection)],
  );
  return rows[0]?.id ?? null;
}

async function preview(tx: Transaction, selection: Selection): Promise<ForgetPreview> {
  const values = new Values();
  const condition = selected(selection, values);
  const { rows } = await tx.query<Omit<ForgetPreview, "unfinished">>(
    `/* forget:preview */ with chosen as materialized (
       select m.id, m.conversation_id, m.seq from ${JOINED} where ${condition}
     ), shown as (
       select m.id, m.role, m.agent, m.created_at, m.seq,
         left(coalesce(nullif(m.content, ''), m.tool_name || ' ' || coalesce(m.tool_args::text, ''), m.tool_result, ''), ${FIRST_WORDS}) as text
       from (select id from chosen order by seq limit ${SHOWN}) as one join messages m on m.id = one.id
     )
     select (select count(*)::int from chosen) as messages,
       (select count(distinct conversation_id)::int from chosen) as conversations,
       (${COVERING}) as summaries,
       coalesce((select jsonb_agg(to_jsonb(shown) - 'seq' order by seq) from shown), '[]') as first`,
    values.list,
  );
  const [row] = rows;
  if (row === undefined) throw new MemoryError("MEMORY_QUERY_FAILED", "The preview has no row.");
  return { ...row, unfinished: await unfinished(tx, selection) };
}

/** A higher summary says again what those below it say. A parent of the same level is only the one before. */
const COVERING = `with recursive covering (id, parent_id, depth) as (
    select s.id, s.parent_id, s.depth from summaries s
    where s.id in (select link.summary_id from summary_sources link join chosen on chosen.id = link.message_id)
    union
    select above.id, above.parent_id, above.depth from covering
    join summaries above on above.id = covering.parent_id and above.depth > covering.depth
  ) select count(*)::int from covering`;
