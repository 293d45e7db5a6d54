import { describe, expect, it } from "vitest";
import { MemoryError } from "../../../../../runtime/contracts/errors.ts";
import type { Memory, MemoryHit, SearchOptions } from "../../../../../runtime/contracts/memory.ts";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatOptions } from "../../../../../runtime/contracts/provider.ts";
import { createOfflineProvider } from "../../../../../runtime/plugins/providers/offline/index.ts";
import { chunks, failure, says, textIn } from "../support.ts";

type Find = Partial<MemoryHit> & { readonly content: string };

function memoryOf(finds: readonly Find[], asked: { query: string; options: SearchOptions | undefined }[] = []): Memory {
  const unused = () => Promise.reject(new Error("not used"));
  return {
    append: unused,
    getContextForTurn: unused,
    getSessionHistory: unused,
    search: async (query, options) => {
      asked.push({ query, options });
      return finds.map((find, index) => ({
        kind: "message",
        id: String(index),
        conversation_id: "c",
        agent: "main",
        channel: "agent",
        role: "user",
        created_at: "2026-11-20T09:30:00.000Z",
        score: 1 - index / 100,
        scores: { fts: 1, semantic: 0, temporal: 1, importance: 0.6 },
        access_count: 0,
        ...find,
      }));
    },
  };
}

const CALLER: ChatOptions["caller"] = {
  agent: "main",
  sessionKey: "main:agent:home:ada",
  channel: "agent",
  user: "ada",
  owner: false,
};

const answer = async (
  question: string,
  finds: readonly Find[],
  options: ChatOptions = { caller: CALLER },
): Promise<string> =>
  textIn(await chunks(createOfflineProvider({ id: "offline", memory: memoryOf(finds) }), says(question), options));

describe("an answer without a model", () => {
  it("lists what memory holds, with dates, and says how to get a model", async () => {
    const text = await answer("What is my cat called?", [
      { content: "My cat is called Miso." },
      { content: "Miso likes tuna.", created_at: "2026-10-02T23:59:00.000Z", role: "assistant" },
    ]);
    expect(text.split("\n").slice(0, 3)).toEqual([
      "Here is what I remember:",
      "- 2026-11-20: My cat is called Miso.",
      "- 2026-10-02: I said: Miso likes tuna.",
    ]);
    expect(text).toContain("No language model is configured");
    expect(text).toContain("`cairn provider anthropic --agent main`");
    expect(text).toContain("`cairn provider ollama --model NAME --agent main`");
    expect(text).toContain("`npm run -s cairn --`");
    expect(text).toContain("cairn restart");
  });

  it("says how to get a model once in a conversation, and that there is none each time", async () => {
    const first = await answer("My cat is called Miso.", []);
    const provider = createOfflineProvider({ id: "offline", memory: memoryOf([]) });
    const talk: Message[] = [
      ...says("My cat is called Miso."),
      { role: "assistant", content: first },
      ...says("And now?"),
    ];
    const second = textIn(await chunks(provider, talk, { caller: CALLER }));
    expect(first).toContain("cairn restart");
    expect(second).toContain("No language model is configured");
    expect(second).not.toContain("cairn restart");
  });

  it("names the way of a deployed node where it runs in a container", async () => {
    const provider = createOfflineProvider({ id: "offline", memory: memoryOf([]), inContainer: true });
    const text = textIn(await chunks(provider, says("My cat is called Miso."), { caller: CALLER }));
    expect(text).toContain("run `cairn infra up`");
    expect(text).not.toContain("cairn restart");
  });

  it("never shows the question itself, nor anything twice, nor its own earlier answers", async () => {
    const earlier = await answer("What is my cat called?", [{ content: "My cat is called Miso." }]);
    const text = await answer("What is my cat called?", [
      { content: "what is my cat called" },
      { content: "What is my cat called?" },
      { content: earlier, role: "assistant" },
      { content: "My cat is called Miso." },
      { content: "my cat is called MISO" },
    ]);
    expect(text.match(/^- .*/gm)).toEqual(["- 2026-11-20: My cat is called Miso."]);
  });

  it("puts statements before other questions, and shows a few only", async () => {
    const finds = [
      "Is the cat fed?",
      "The cat was fed.",
      ...Array.from({ length: 9 }, (_, n) => `The cat did ${n} things.`),
    ];
    const lines =
      (
        await answer(
          "cat news",
          finds.map((content) => ({ content })),
        )
      ).match(/^- .*/gm) ?? [];
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain("The cat was fed.");
    expect(lines.join()).not.toContain("Is the cat fed?");
  });

  it("shows the part of a long text that fits the question, never half a character", async () => {
    const filler = "Nothing of note happened here. ".repeat(30);
    const text = await answer("where is the key?", [{ content: `${filler}The key is under the stone. ${filler}` }]);
    const [line = ""] = text.match(/^- .*/m) ?? [];
    expect(line).toContain("The key is under the stone.");
    expect(line.length).toBeLessThan(300);
    const emoji = await answer("stones?", [{ content: "🪨".repeat(500) }, { content: `x${"🪨".repeat(500)} stones` }]);
    expect(emoji.isWellFormed()).toBe(true);
  });

  it("says so when there is nothing, and takes note of a statement", async () => {
    expect(await answer("What is my cat called?", [])).toMatch(/^I found nothing about that in memory\./);
    expect(await answer("My cat is called Miso.", [])).toMatch(/^Noted: /);
  });

  it.each([
    "My dog is called Rex",
    "I'm allergic to nuts.",
    "The boat lies in Kiel now",
    "please remember the code of the gate is 4711",
  ])("looks for nothing where the message is a statement: %s", async (statement) => {
    expect(await answer(statement, [{ content: "My cat is called Miso." }])).toMatch(/^Noted: /);
  });

  it.each([
    "cat",
    "the cat",
    "My cat's name?",
    "how is my cat called",
    "tell me about my cat",
    "cat food brands",
    "My wifi password please",
    "The address of the dentist",
    "the boat we rented in May",
    "their phone number in Bern",
    "the place where it was so loud",
  ])("looks for what is asked: %s", async (asked) => {
    expect(await answer(asked, [{ content: "Miso likes tuna." }])).toMatch(/^Here is what I remember:/);
  });

  it("is the same for the same memory", async () => {
    const finds = [{ content: "My cat is called Miso." }, { content: "Miso likes tuna." }];
    expect(await answer("cat?", finds)).toBe(await answer("cat?", finds));
  });

  it("comes in a few pieces and ends like any reply", async () => {
    const provider = createOfflineProvider({
      id: "offline",
      memory: memoryOf([{ content: "My cat is called Miso." }]),
    });
    const list = await chunks(provider, says("cat?"), { caller: CALLER });
    expect(list.length).toBeGreaterThan(2);
    expect(list.at(-1)).toEqual({
      type: "end",
      stopReason: "end",
      usage: { inputTokens: 0, outputTokens: 0 },
      model: "offline",
    });
  });

  it("dates in the time zone that it is given", async () => {
    const memory = memoryOf([{ content: "My cat is called Miso.", created_at: "2026-11-20T23:30:00.000Z" }]);
    const provider = createOfflineProvider({ id: "offline", memory, timezone: "Europe/Berlin" });
    expect(textIn(await chunks(provider, says("cat?"), { caller: CALLER }))).toContain("- 2026-11-21:");
  });
});

describe("whose memory is searched", () => {
  const asked = async (caller: ChatOptions["caller"]) => {
    const calls: { query: string; options: SearchOptions | undefined }[] = [];
    const provider = createOfflineProvider({ id: "offline", memory: memoryOf([{ content: "secret" }], calls) });
    const text = textIn(await chunks(provider, says("tell me"), caller === undefined ? {} : { caller }));
    return { calls, text };
  };

  it("is that of the user on the channel", async () => {
    const { calls } = await asked(CALLER);
    expect(calls).toMatchObject([{ query: "tell me", options: { visibility: { channel: "agent", user: "ada" } } }]);
  });

  it("is everything for the owner", async () => {
    const { calls } = await asked(CALLER === undefined ? undefined : { ...CALLER, owner: true });
    expect(calls).toMatchObject([{ options: { visibility: { all: true } } }]);
  });

  it("is empty when the user is unknown", async () => {
    const { calls, text } = await asked(undefined);
    expect(calls).toEqual([]);
    expect(text).not.toContain("secret");
  });
});

describe("a memory that cannot be searched", () => {
  it.each([
    ["MEMORY_UNAVAILABLE", "PROVIDER_OVERLOADED", true],
    ["MEMORY_QUERY_FAILED", "PROVIDER_SERVER_ERROR", true],
  ] as const)("fails the call: %s", async (given, code, retryable) => {
    const memory: Memory = {
      ...memoryOf([]),
      search: () => Promise.reject(new MemoryError(given, "The database is unavailable.")),
    };
    const error = await failure(
      chunks(createOfflineProvider({ id: "offline", memory }), says("cat?"), { caller: CALLER }),
    );
    expect(error).toMatchObject({ code, retryable, message: expect.stringContaining("The database is unavailable.") });
  });

  it("rejects with the signal's reason when it is aborted", async () => {
    const controller = new AbortController();
    const memory: Memory = {
      ...memoryOf([]),
      search: () => {
        controller.abort("stop");
        return Promise.reject(new Error("aborted"));
      },
    };
    const options = { caller: CALLER, signal: controller.signal };
    expect(await failure(chunks(createOfflineProvider({ id: "offline", memory }), says("cat?"), options))).toBe("stop");
  });
});
