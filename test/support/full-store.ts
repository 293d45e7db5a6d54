/** A store with rows of every kind, and all that a store holds, to be compared with another one. */

import { v7 } from "uuid";
import { createEmbeddingTable } from "../../runtime/app/recall/embedding-tables.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { said, write, writerOf } from "./memory.ts";

/** A store in which every table has rows, of every state that matters. */
export async function fill(database: Database): Promise<void> {
  const writer = writerOf(database);
  const long = `${"\u2028x😀\n".repeat(8_000)}`;
  const createdAt = "2024-05-06T07:08:09.123Z";
  await write(writer, "main:agent:c1:ada", [
    said("hello", { createdAt, toolArgs: { n: 1e21, deep: [null, true, "\\\"'"] } }),
    said("same time", { createdAt }),
    said(long, { key: "event:long", metadata: { note: "ünïcödé\u2029" } }),
    said("", { key: "tool", role: "assistant", toolName: "shell", toolResult: long, payload: { toolResult: long } }),
  ]);
  await database.query("update conversations set active = false where session_key = 'main:agent:c1:ada'");
  const { conversationId, rows } = await write(
    writer,
    "main:agent:c1:ada",
    Array.from({ length: 450 }, (_, index) => said(`message ${index}`)),
  );
  const [leaf, branch] = [v7(), v7()];
  await database.query(
    `insert into summaries (id, conversation_id, depth, kind, content, message_count, earliest_at, latest_at, model)
     values ($1, $3, 0, 'leaf', 'a leaf', 2, now(), now(), 'm'), ($2, $3, 1, 'branch', 'a branch', 1, null, null, null)`,
    [leaf, branch, conversationId],
  );
  // The parent is younger than its child.
  await database.query("update summaries set parent_id = $2 where id = $1", [leaf, branch]);
  for (const [ordinal, row] of rows.slice(0, 2).entries()) {
    await database.query("insert into summary_sources (summary_id, message_id, ordinal) values ($1, $2, $3)", [
      leaf,
      row.id,
      ordinal,
    ]);
  }
  await database.query("insert into access (kind, id, access_count) values ('message', $1, 7), ('summary', $2, 1)", [
    rows[0]?.id,
    leaf,
  ]);
  const model = await database.query<{ id: number; dimensions: number }>(
    "insert into embedding_models (name, dimensions, current) values ('tiny', 3, true) returning id, dimensions",
  );
  for (const { id, dimensions } of model.rows) {
    await createEmbeddingTable(database, database.backend, { id, dimensions });
    await database.query(
      `insert into embeddings_${id} (kind, id, embedding) values ('message', $1, '[0.5,-1,2.25]'), ('summary', $2, '[1,0,0]')`,
      [rows[0]?.id, leaf],
    );
  }
  for (const state of ["done", "running", "queued", "waiting", "failed"]) {
    const [inbox, turn] = [v7(), v7()];
    const { rows: numbered } = await database.query<{ seq: number }>(
      `insert into inbox (id, channel, agent, conversation, external_id, body_hash, session_key, text, done_at)
       values ($1, 'agent', 'main', 'c1', $2, 'h', 'main:agent:c1:ada', 'hi', $3) returning seq`,
      [inbox, state, state === "done" || state === "failed" ? new Date() : null],
    );
    await database.query(
      `insert into turns (id, inbox_id, seq, session_key, agent, conversation_id, state, epoch, lease_node, lease_until)
       values ($1, $2, $3, 'main:agent:c1:ada', 'main', $4, $5, 4, 'n', now() + interval '1 minute')`,
      [turn, inbox, numbered[0]?.seq, conversationId, state],
    );
    await database.query(
      `insert into turn_steps (turn_id, n, epoch, kind, tool_call_id, state, request)
       values ($1, 1, 4, 'tool', 'call', $2, '{"a": 1}')`,
      [turn, { running: "intended", waiting: "asked" }[state] ?? "done"],
    );
    await database.query(
      `insert into turn_questions (id, turn_id, n, ordinal, question, state, answer, expires_at)
       values ($1, $2, 1, 0, '{"text": "Which?", "choices": []}', $3, $4, now() + interval '1 day')`,
      [v7(), turn, ...(state === "waiting" ? ["open", null] : ["answered", "this"])],
    );
    await database.query("insert into turn_steers (id, turn_id, text) values ($1, $2, 'left')", [v7(), turn]);
    await database.query(
      "insert into outbox (id, turn_id, channel, agent, payload, state) values ($1, $2, 'agent', 'main', '{}', $3)",
      [v7(), turn, state === "running" ? "pending" : "sent"],
    );
  }
  await database.query(
    "insert into approvals (id, agent, tool, digest, call, reason, approved_by, turn_id) values ($1, 'main', 'shell', 'd', 'command: make', 'r', 'owner', $2)",
    [v7(), v7()],
  );
  await database.query(
    "insert into model_usage values ('2024-05-06', 'main', 'p', 'm', 3, 1, 9007199254740991, 2, 1, 4, 0.000000000001)",
  );
  await database.query(
    "insert into schedules (agent, name, definition, planned_at, paused_at) values ('main', 'morning', '[]', now(), now())",
  );
  await database.query("insert into leases (name, holder, epoch, expires_at) values ('agent:main', 'node', 9, now())");
  await database.query("insert into api_tokens (id, name, hash, scopes) values ($1, 't', 'hash', '{memory,agent}')", [
    v7(),
  ]);
}

export type Content = Record<string, unknown[]>;

/** Every row of every table of ours, as text; but for the number of the writes of accesses, which is the store's own. */
export async function contentOf(database: Database): Promise<Content> {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables
     where schemaname = 'public' and tablename not in ('schema_migrations', 'access_version') order by 1`,
  );
  const content: Content = {};
  for (const { name } of tables.rows) {
    const { rows } = await database.query<{ row: unknown }>(
      `select to_jsonb(t) - 'content_tsv' as row from ${name} as t order by t::text collate "C"`,
    );
    content[name] = rows.map(({ row }) => row);
  }
  return content;
}
