/** The memory passes the checks of its contract over both stores, and each check finds the memory that breaks its rule. */

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sessionKey } from "../../../runtime/domain/session-key.ts";
import type { Memory, MemoryHit } from "../../../runtime/testing/memory/index.ts";
import { memoryConformance, type OpenMemory, type SaidInTurns } from "../../../runtime/testing/memory/index.ts";
import { describeEachDatabase } from "../../support/databases.ts";
import { memoryOf, said, write, writerOf } from "../../support/memory.ts";

describeEachDatabase("the contract of the memory", (open) => {
  async function opened(): Promise<OpenMemory> {
    const database = await open({ fresh: true });
    const memory = memoryOf(database);
    return {
      memory,
      async say({ texts, conversation, ...who }: SaidInTurns) {
        const key = sessionKey({ ...who, conversation });
        const entries = texts.map((text) => said(text));
        await write(writerOf(database), key, entries, { ...who, channelId: conversation });
        return key;
      },
      close: () => memory.idle(),
    };
  }

  describe("is kept", () => {
    for (const check of memoryConformance({ open: opened })) it(check.name, () => check.run());
  });

  /** By the check that finds it. */
  const BROKEN: Readonly<Record<string, (memory: Memory) => Partial<Memory>>> = {
    "stores each message": () => ({ append: async () => "1" }),
    "stores a message that comes again": (memory) => ({
      append: (entry) => memory.append({ ...entry, eventId: randomUUID() }),
    }),
    "finds by words": (memory) => ({ search: (query, options) => memory.search(query, { ...options, mode: "fts" }) }),
    "finds what the agent": (memory) => ({
      search: (query, { agent: _, ...options } = {}) => memory.search(query, options),
    }),
    "shows a user nothing": (memory) => ({
      getContextForTurn: (query, agent, { visibility: _, ...options } = {}) =>
        memory.getContextForTurn(query, agent, options),
    }),
    "gives the session's newest": (memory) => ({
      getSessionHistory: async (id, options) => (await memory.getSessionHistory(id, options)).toReversed(),
    }),
    "gives a turn what": (memory) => ({
      getContextForTurn: (query, agent, { exclude: _, ...options } = {}) =>
        memory.getContextForTurn(query, agent, options),
    }),
    "keeps settings": () => ({ saveSessionSettings: async () => undefined }),
    "ends a search": () => ({ search: async (): Promise<MemoryHit[]> => [] }),
  };

  describe("is found broken by the check that", () => {
    it.each(memoryConformance({ open: opened }).map(({ name }) => name))("%s", async (name) => {
      const [, breaks] = Object.entries(BROKEN).find(([begin]) => name.startsWith(begin)) ?? [];
      const open = async () => {
        const { memory, ...others } = await opened();
        return { ...others, memory: { ...memory, ...breaks?.(memory) } };
      };
      const check = memoryConformance({ open }).find((one) => one.name === name);
      await expect(check?.run()).rejects.toMatchObject({ code: "ERR_ASSERTION" });
    });
  });
});
