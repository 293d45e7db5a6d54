import { v7 as uuid } from "uuid";
import { expect, test } from "vitest";
import type { Database, Queryable } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";

/** Rows of the transcript stay as they were said, for every role: the database refuses a change, not the program. */

const REFUSED = expect.objectContaining({
  cause: expect.objectContaining({ message: expect.stringContaining("transcript rows are immutable") }),
});

describeEachDatabase("immutability of the transcript", (open) => {
  test.each([
    ["a new text", "update messages set content = 'other' where id = $1"],
    ["another role", "update messages set role = 'system' where id = $1"],
    ["other metadata", `update messages set metadata = '{"x":1}' where id = $1`],
    ["another time", "update messages set created_at = now() where id = $1"],
    ["another result", "update messages set tool_result = 'other' where id = $1"],
    ["a removal", "delete from messages where id = $1"],
    ["a merge", "merge into messages m using (select $1::uuid as id) s on m.id = s.id when matched then delete"],
  ])("%s of a row is refused", async (_what, statement) => {
    const database = await open();
    const id = await said(database, { content: "what was said" });
    const before = await row(database, id);
    await expect(database.query(statement, [id])).rejects.toEqual(REFUSED);
    expect(await row(database, id)).toEqual(before);
  });

  test.each(["truncate messages cascade", "truncate conversations cascade"])("%s is refused", async (statement) => {
    const database = await open();
    const id = await said(database, { content: "what was said" });
    await expect(database.query(statement)).rejects.toEqual(REFUSED);
    expect(await row(database, id)).toBeDefined();
  });

  test.each([
    "update messages set content = 'other' where id = $1",
    "delete from messages where id = $1",
    "truncate messages cascade",
  ])("a superuser's session that skips ordinary triggers may not do it either: %s", async (statement) => {
    const database = await open();
    const id = await said(database, { content: "what was said" });
    const before = await row(database, id);
    const attack = database.transaction(async (tx) => {
      await tx.query("set local session_replication_role = replica");
      await tx.query(statement, statement.includes("$1") ? [id] : []);
    });
    await expect(attack).rejects.toEqual(REFUSED);
    expect(await row(database, id)).toEqual(before);
  });

  test("the text of a tool call may be written once, and nothing else with it", async () => {
    const database = await open();
    const id = await said(database, { toolName: "shell" });
    const both = "update messages set content = 'ran a command', tool_name = 'other' where id = $1";
    await expect(database.query(both, [id])).rejects.toEqual(REFUSED);
    await database.query("update messages set content = 'ran a command' where id = $1", [id]);
    await expect(database.query("update messages set content = 'again' where id = $1", [id])).rejects.toEqual(REFUSED);
    expect((await row(database, id))?.["content"]).toBe("ran a command");
  });
});

async function said(
  database: Database,
  { content = "", toolName = null }: { readonly content?: string; readonly toolName?: string | null },
): Promise<string> {
  const [conversation, id] = [uuid(), uuid()];
  await database.query(
    "insert into conversations (id, session_key, agent, channel) values ($1::uuid, $1::text, 'main', 'terminal')",
    [conversation],
  );
  await database.query(
    "insert into messages (id, conversation_id, agent, channel, role, content, tool_name) values ($1, $2, 'main', 'terminal', 'user', $3, $4)",
    [id, conversation, content, toolName],
  );
  return id;
}

async function row(database: Queryable, id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await database.query<Record<string, unknown>>("select * from messages where id = $1", [id])).rows[0];
}
