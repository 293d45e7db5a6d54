import { expect, it } from "vitest";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { clockAt, memoryOf, said, write, writerOf } from "../../../support/memory.ts";

const count = createTokenizer();
const now = "2026-03-10T12:00:00Z";
const clock = clockAt(now);
const daysAgo = (days: number) => new Date(Date.parse(now) - days * 86_400_000).toISOString();

/** The lines within the fence. */
const rowsOf = (text: string) => text.split("\n").slice(2, -1);

describeDatabase("the context of a turn", (open) => {
  it("is readable lines with time, agent and role", async () => {
    const database = await open();
    const entry = said("My sister's name is Quintessa.\nShe lives in Graz.", { createdAt: "2026-03-09T08:05:30Z" });
    await write(writerOf(database), "lines", [entry]);
    const text = await memoryOf(database, { clock }).getContextForTurn("What is the name of Quintessa's city?", "main");
    expect(rowsOf(text)).toEqual([
      '[2026-03-09T08:05Z own turn with the user "unnamed": main/user] My sister\'s name is Quintessa.',
      "  She lives in Graz.",
    ]);
  });

  it("is empty when nothing has to do with the message", async () => {
    const database = await open();
    await write(writerOf(database), "unrelated", [said("The kettle boils.")]);
    const memory = memoryOf(database, { clock });
    expect(await memory.getContextForTurn("xylophone zeppelin", "main")).toBe("");
    expect(await memory.getContextForTurn("and the of", "main")).toBe("");
    expect(await memory.getContextForTurn("", "main")).toBe("");
  });

  it("ranks by the specification's formula: what fits equally comes newest first, and importance counts", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [
      said("the marmalade is in cellar one", { createdAt: daysAgo(40) }),
      said("the marmalade is in cellar two", { createdAt: daysAgo(2) }),
      said("no, the marmalade is in cellar six", { createdAt: daysAgo(2) }),
    ]);
    const text = await memoryOf(database, { clock }).getContextForTurn("where is the marmalade", "main");
    expect(rowsOf(text).map((line) => line.split(" ").at(-1))).toEqual(["six", "two", "one"]);
  });

  it("lets what was often found fade more slowly", async () => {
    const database = await open({ fresh: true });
    const { rows } = await write(writerOf(database), "s", [
      said("the marmalade is red", { createdAt: daysAgo(20) }),
      said("the marmalade is blue", { createdAt: daysAgo(10) }),
    ]);
    await database.query("insert into access values ('message', $1, 30, $2)", [rows[0]?.id, daysAgo(15)]);
    const text = await memoryOf(database, { clock }).getContextForTurn("marmalade", "main");
    expect(rowsOf(text).map((line) => line.split(" ").at(-1))).toEqual(["red", "blue"]);
  });

  it("leaves out what the prompt holds, what the user may not see, and what is said twice", async () => {
    const database = await open({ fresh: true });
    const writer = writerOf(database);
    const { rows } = await write(writer, "a", [said("pineapple in the prompt"), said("pineapple of Ada")], {
      user: "ada",
    });
    await write(writer, "a2", [said("pineapple of Ada")], { user: "ada" });
    await write(writer, "b", [said("pineapple of Bob")], { user: "bob" });
    const context = (visibility: { channel: string; user: string } | { all: true }) =>
      memoryOf(database).getContextForTurn("pineapple", "main", { visibility, exclude: new Set([rows[0]?.id ?? ""]) });
    const said_ = (text: string) => rowsOf(text).map((line) => line.slice(line.indexOf("]") + 2));
    expect(said_(await context({ channel: "agent", user: "ada" }))).toEqual(["pineapple of Ada"]);
    expect(said_(await context({ all: true })).sort()).toEqual(["pineapple of Ada", "pineapple of Bob"]);
  });

  it("fills the budget from the top and never exceeds it", async () => {
    const database = await open({ fresh: true });
    const texts = Array.from(
      { length: 120 },
      (_, n) => `note ${n} on falcons: ${"they fly and they hunt, ".repeat(n % 30)}`,
    );
    texts.push(`falcons ${"forever ".repeat(20_000)}`);
    await write(
      writerOf(database),
      "s",
      texts.map((text) => said(text)),
    );
    const memory = memoryOf(database);
    for (const maxTokens of [0, 10, 100, 1_000, undefined]) {
      const text = await memory.getContextForTurn("falcons", "main", maxTokens === undefined ? {} : { maxTokens });
      expect(count(text)).toBeLessThanOrEqual(maxTokens ?? 4_000);
      if (maxTokens === undefined || maxTokens >= 1_000) expect(count(text)).toBeGreaterThan((maxTokens ?? 4_000) / 2);
    }
  });

  it("does not count as an access", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("a walnut")]);
    const memory = memoryOf(database);
    expect(await memory.getContextForTurn("walnut", "main")).not.toBe("");
    await memory.idle();
    expect((await database.query("select 1 from access")).rows).toEqual([]);
  });
});

describeDatabase("a session's memory", (open) => {
  it("is the newest rows of the active conversation, oldest first", async () => {
    const database = await open();
    const writer = writerOf(database);
    const memory = memoryOf(database);
    expect(await memory.getSessionHistory("history")).toEqual([]);
    await write(writer, "history", [said("before /new")]);
    await database.query("update conversations set active = false where session_key = 'history'");
    await write(writer, "history", [
      said("one"),
      said("two"),
      said("", { key: "t", toolName: "shell", toolResult: "ok" }),
    ]);
    const history = await memory.getSessionHistory("history");
    expect(history.map(({ content, tool_name }) => tool_name ?? content)).toEqual(["one", "two", "shell"]);
    expect(await memory.getSessionHistory("history", { limit: 2 })).toEqual(history.slice(1));
    // "ok" with its arguments, if any, is less than five bytes; with "two" they are reached.
    expect(await memory.getSessionHistory("history", { bytes: 5 })).toEqual(history.slice(1));
    expect(await memory.getSessionHistory("history", { bytes: 6 })).toEqual(history);
    expect(await memory.getSessionHistory("history", { bytes: 1 })).toEqual(history.slice(2));
    expect(await memory.getSessionHistory("history", { bytes: 1_000, limit: 1 })).toEqual(history.slice(2));
  });

  it("keeps settings, also of a session that has said nothing yet, and over the end of a conversation", async () => {
    const database = await open();
    const memory = memoryOf(database);
    const key = "main:agent:settings:ada%40home";
    expect(await memory.loadSessionSettings(key)).toBeNull();
    await memory.saveSessionSettings(key, { thinking: "high" });
    expect(await memory.loadSessionSettings(key)).toEqual({ thinking: "high" });
    const { rows } = await database.query(
      "select agent, channel, channel_id, user_id from conversations where session_key = $1",
      [key],
    );
    expect(rows).toEqual([{ agent: "main", channel: "agent", channel_id: "settings", user_id: "ada@home" }]);
    await memory.saveSessionSettings(key, { model: "m" });
    await database.query("update conversations set active = false where session_key = $1", [key]);
    expect(await memory.loadSessionSettings(key)).toEqual({ model: "m" });
    await expect(memory.saveSessionSettings("no key", {})).rejects.toMatchObject({ code: "MEMORY_NOT_FOUND" });
  });

  it("stores an appended message once for each event, or once for the same words", async () => {
    const database = await open();
    const memory = memoryOf(database);
    const entry = { sessionKey: "append", agent: "main", channel: "cli", role: "user", content: "hello" } as const;
    const first = await memory.append(entry);
    expect(await memory.append(entry)).toBe(first);
    expect(await memory.append({ ...entry, eventId: "1" })).not.toBe(first);
    expect((await memory.search("hello")).length).toBe(2);
    await memory.idle();
  });
});
