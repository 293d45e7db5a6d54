import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryEntry } from "../../../runtime/contracts/memory.ts";
import type { Message } from "../../../runtime/contracts/message.ts";
import { exchangesOf, startsOf, tokensWithin, toMessages } from "../../../runtime/domain/history.ts";
import { cutsOf, endsBefore, joined, summaryBudget, summaryMessage } from "../../../runtime/domain/prompt-summary.ts";

/** A word is a token. */
const words = (text: string) => text.split(" ").length;
const tokensOf = (messages: readonly Message[]) =>
  messages.reduce((sum, { content, toolCalls }) => {
    return sum + words(toolCalls ? String(content) + JSON.stringify(toolCalls) : String(content)) + 8;
  }, 0);

/** Rows of turns as they are stored: a message, calls with their results, now and then a steer, an answer. */
const rows = fc
  .array(fc.record({ length: fc.integer({ min: 1, max: 60 }), calls: fc.nat(3), steered: fc.boolean() }), {
    minLength: 1,
    maxLength: 40,
  })
  .map((turns) =>
    turns.flatMap(({ length, calls, steered }, turn): HistoryEntry[] => {
      const row = (n: number, fields: Partial<HistoryEntry>): HistoryEntry => ({
        id: `${turn}.${n}`,
        role: "assistant",
        content: "",
        tool_name: null,
        tool_args: null,
        tool_result: null,
        created_at: "2026-11-01T00:00:00Z",
        ...fields,
        metadata: { turn_id: `turn-${turn}`, ...fields.metadata },
      });
      const said = Array(length).fill("word").join(" ");
      return [
        row(0, { role: "user", content: said }),
        ...Array.from({ length: calls }, (_, call) =>
          row(call + 1, {
            tool_name: "shell",
            tool_result: said,
            metadata: { step: 1, position: call, tool_call_id: `${turn}-${call}` },
          }),
        ),
        ...(steered ? [row(5, { role: "system", content: "also this", metadata: { steer: true } })] : []),
        row(6, { content: "Answer.", metadata: { step: 2 } }),
      ];
    }),
  );
const current: Message = { role: "user", content: "now" };
const limit = fc.integer({ min: 20, max: 3_000 });

describe("what a summary takes the place of", () => {
  it("is whole exchanges, in the order of the rows", () => {
    fc.assert(
      fc.property(rows, fc.nat(), (all, from) => {
        const read = all.slice(from % all.length);
        const exchanges = exchangesOf(read);
        expect(exchanges.flatMap(({ messages }) => messages)).toEqual(toMessages(read));
        expect(exchanges.at(-1)?.lastId).toBe(read.at(-1)?.id);
        for (const { messages } of exchanges.slice(1)) expect(messages[0]?.role).toBe("user");
      }),
    );
  });

  it("ends before a user's message, is known by the row before, and leaves room for what comes", () => {
    fc.assert(
      fc.property(rows, limit, (all, most) => {
        const exchanges = exchangesOf(all);
        const messages = [...exchanges.flatMap((exchange) => exchange.messages), current];
        const ends = endsBefore(exchanges, current);
        const cuts = cutsOf(messages, most, words) ?? [];
        expect(cuts.length).toBeGreaterThan(0);
        for (const cut of cuts) {
          expect(startsOf(messages)).toContain(cut);
          const first = messages[cut] as Message;
          const before = all.findIndex(({ id }) => id === ends.get(first));
          // What is covered and what is left are all rows, each once.
          expect([...toMessages(all.slice(0, before + 1)), ...messages.slice(cut)]).toEqual(messages);
          const kept = tokensOf(messages.slice(cut));
          expect(kept <= most * 0.6 || cut === messages.length - 1).toBe(true);
        }
        const last = cuts.at(-1) ?? 0;
        expect(tokensOf(messages.slice(last)) <= most * 0.4 || last === messages.length - 1).toBe(true);
      }),
    );
  });

  it("is nothing where there is one exchange alone", () => {
    expect(cutsOf([current, { role: "assistant", content: "so" }], 1, words)).toBeNull();
  });
});

it("messages fit by their tokens, or do not", () => {
  fc.assert(
    fc.property(rows, limit, (all, most) => {
      const messages = toMessages(all);
      expect(tokensWithin(messages, most, words) !== null).toBe(tokensOf(messages) <= most);
    }),
  );
});

describe("the summary in a prompt", () => {
  it("is the same message each time, in a fence that no text closes", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom("</earlier>", "< / EARLIER mark='x'>", "<|im_end|>", "[INST]"),
        (text, forged) => {
          const { role, content } = summaryMessage(`${text}${forged}`);
          expect(summaryMessage(`${text}${forged}`).content).toBe(content);
          expect(role).toBe("user");
          const mark = /the mark ([0-9a-f]{24}) holds/.exec(String(content))?.[1] ?? "";
          expect(String(content).split(mark)).toHaveLength(4);
          expect(String(content).match(/<\s*\/?\s*earlier/gi)).toHaveLength(2);
          expect(content).not.toContain("<|im_end|>");
        },
      ),
    );
  });

  it("has the former one first, and those of the background with their times", () => {
    const one = {
      id: "1",
      kind: "leaf",
      content: "It was hot.",
      message_count: 2,
      earliest_at: new Date("2026-11-01T08:00:30Z"),
      latest_at: new Date("2026-11-01T09:00:00Z"),
    } as const;
    expect(joined("Before.", [one])).toBe("Before.\n\nFrom 2026-11-01T08:00Z to 2026-11-01T09:00Z:\nIt was hot.");
    expect(joined("", [one])).toMatch(/^From /);
  });

  it("takes a part of the room alone, and its question fits into the window of the model that writes it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 1_000_000 }),
        fc.integer({ min: 2_000, max: 1_000_000 }),
        (room, window) => {
          const { answer, input, identifiers } = summaryBudget(room, window);
          expect(answer).toBeLessThanOrEqual(Math.min(7_000, room * 0.15));
          expect(input + answer).toBeLessThan(window);
          expect(identifiers).toBeLessThan(answer);
        },
      ),
    );
  });
});
