/** The contract of a memory as checks, one for each thing that turns, tools and routes rely on; for any test runner. */

import assert from "node:assert/strict";
import type { HistoryEntry, Memory, MemoryEntry, SearchOptions } from "../../contracts/memory.ts";
import { type ConformanceCheck, failureOf, inTime } from "../check.ts";

/** What a user and an agent have said, oldest first, as turns store it. */
export interface SaidInTurns {
  readonly agent: string;
  readonly channel: string;
  readonly conversation: string;
  readonly user: string;
  readonly texts: readonly string[];
}

export interface OpenMemory {
  readonly memory: Memory;
  /** The key of the session. */
  say(said: SaidInTurns): Promise<string>;
  close?(): Promise<void>;
}

export interface MemoryHarness {
  /** An empty memory for each check. */
  open(): Promise<OpenMemory>;
}

export function memoryConformance({ open }: MemoryHarness): readonly ConformanceCheck[] {
  const checks: [name: string, run: (opened: OpenMemory) => Promise<void>][] = [
    ["stores each message under an id of its own, and finds it", storesEach],
    ["stores a message that comes again once", storesOnce],
    ["finds by words, by parts of words and by patterns", findsInEachMode],
    ["finds what the agent, the time and the limit allow, and nothing else", keepsToFilters],
    ["shows a user nothing of other users", showsOnlyOwn],
    ["gives the session's newest rows, oldest first, and nothing that others stored under its key", givesHistory],
    ["gives a turn what has to do with it, within its budget, without what the prompt holds", givesContext],
    ["keeps settings of a session", keepsSettings],
    ["ends a search where its signal has aborted", endsAtSignal],
  ];
  return checks.map(([name, run]) => ({
    name,
    async run() {
      const opened = await open();
      try {
        await inTime(name, run(opened));
      } finally {
        await opened.close?.();
      }
    },
  }));
}

const ENTRY: MemoryEntry = {
  sessionKey: "notes",
  agent: "main",
  channel: "notes",
  role: "user",
  content: "The marmalade is in the cellar.",
};
const SAID: SaidInTurns = { agent: "main", channel: "agent", conversation: "c", user: "ada", texts: [] };

async function found(memory: Memory, query: string, options: SearchOptions = {}): Promise<string[]> {
  return (await memory.search(query, options)).map(({ content }) => content);
}

async function storesEach({ memory }: OpenMemory): Promise<void> {
  const first = await memory.append(ENTRY);
  const second = await memory.append({ ...ENTRY, content: "The marmalade is red." });
  assert.notEqual(first, second, "each message has an id of its own");
  const hits = await memory.search("marmalade");
  assert.deepEqual(new Set(hits.map(({ id }) => id)), new Set([first, second]), "both have to be found by their ids");
}

async function storesOnce({ memory }: OpenMemory): Promise<void> {
  const first = await memory.append(ENTRY);
  assert.equal(await memory.append(ENTRY), first, "the same message has the same id");
  const event = { ...ENTRY, content: "A jar.", eventId: "1" };
  assert.equal(await memory.append(event), await memory.append(event), "one event is one message");
  assert.notEqual(
    await memory.append(event),
    await memory.append({ ...event, eventId: "2" }),
    "two events are two messages",
  );
  assert.equal((await memory.search("marmalade")).length, 1, "it has to be there once");
}

async function findsInEachMode({ memory }: OpenMemory): Promise<void> {
  await memory.append(ENTRY);
  await memory.append({ ...ENTRY, content: "It rains." });
  for (const [mode, query] of [
    ["hybrid", "where is the marmalade"],
    ["fts", "marmalade"],
    ["trigram", "marmalad"],
    ["regex", "mar[a-z]+lade"],
  ] as const) {
    assert.deepEqual(await found(memory, query, { mode }), [ENTRY.content], `in the mode ${mode}`);
  }
}

async function keepsToFilters({ memory }: OpenMemory): Promise<void> {
  for (const [day, agent] of [
    ["01", "main"],
    ["02", "main"],
    ["03", "other"],
  ] as const) {
    const content = `The marmalade of day ${day}.`;
    await memory.append({ ...ENTRY, agent, content, createdAt: `2026-03-${day}T12:00:00.000Z` });
  }
  assert.deepEqual(await found(memory, "marmalade", { agent: "other" }), ["The marmalade of day 03."], "of the agent");
  const between = { since: "2026-03-02T00:00:00Z", before: "2026-03-03T00:00:00Z" };
  assert.deepEqual(await found(memory, "marmalade", between), ["The marmalade of day 02."], "of the time");
  assert.equal((await found(memory, "marmalade", { limit: 2 })).length, 2, "as many as were asked for");
  assert.deepEqual(await found(memory, "marmalade", { scope: "summaries" }), [], "no message is a summary");
}

async function showsOnlyOwn({ memory, say }: OpenMemory): Promise<void> {
  await say({ ...SAID, texts: ["My marmalade is red."] });
  await say({ ...SAID, user: "bob", texts: ["My marmalade is blue."] });
  const visibility = { channel: "agent", user: "bob" };
  assert.deepEqual(await found(memory, "marmalade", { visibility }), ["My marmalade is blue."], "by a search");
  assert.equal((await found(memory, "marmalade", { visibility: { all: true } })).length, 2, "the owner sees all");
  const context = await memory.getContextForTurn("marmalade", "main", { visibility });
  assert(context.includes("blue") && !context.includes("red"), "a turn is given nothing of another user");
}

async function givesHistory({ memory, say }: OpenMemory): Promise<void> {
  const texts = ["one", "two", "three"];
  const key = await say({ ...SAID, texts });
  const contents = (rows: readonly HistoryEntry[]) => rows.map(({ content }) => content);
  await memory.append({ ...ENTRY, sessionKey: key, content: "planted" }).catch(() => undefined);
  assert.deepEqual(contents(await memory.getSessionHistory(key)), texts, "in the order in which it was said");
  assert.deepEqual(contents(await memory.getSessionHistory(key, { limit: 2 })), ["two", "three"], "the newest ones");
  assert.deepEqual(await memory.getSessionHistory("nobody"), [], "a session that is not there has none");
}

async function givesContext({ memory, say }: OpenMemory): Promise<void> {
  assert.equal(await memory.getContextForTurn("marmalade", "main"), "", "an empty memory gives nothing");
  await say({ ...SAID, texts: ["The marmalade is red.", "The marmalade is blue.", "It rains."] });
  const context = await memory.getContextForTurn("marmalade", "main");
  assert(context.includes("red") && context.includes("blue") && !context.includes("rains"), "what has to do with it");
  assert.equal(await memory.getContextForTurn("marmalade", "main", { maxTokens: 1 }), "", "nothing fits into a token");
  const hits = await memory.search("marmalade red");
  const exclude = new Set(hits.filter(({ content }) => content.includes("red")).map(({ id }) => id));
  const rest = await memory.getContextForTurn("marmalade", "main", { exclude });
  assert(rest.includes("blue") && !rest.includes("red"), "what the prompt holds is left out");
}

/** They are optional. */
async function keepsSettings({ memory, say }: OpenMemory): Promise<void> {
  if (!memory.saveSessionSettings || !memory.loadSessionSettings) return;
  const key = await say({ ...SAID, texts: ["hello"] });
  assert.deepEqual((await memory.loadSessionSettings(key)) ?? {}, {}, "none were kept yet");
  await memory.saveSessionSettings(key, { thinking: "high" });
  await memory.saveSessionSettings(key, { thinking: "low" });
  assert.deepEqual(await memory.loadSessionSettings(key), { thinking: "low" }, "the last ones count");
  assert.equal(await memory.loadSessionSettings("nobody"), null, "a session that is not there has none");
}

async function endsAtSignal({ memory }: OpenMemory): Promise<void> {
  await memory.append(ENTRY);
  const reason = new Error("stopped");
  const signal = AbortSignal.abort(reason);
  assert.equal(await failureOf(memory.search("marmalade", { signal })), reason, "it rejects with the signal's reason");
}
