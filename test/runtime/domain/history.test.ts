import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../runtime/contracts/message.ts";
import { bytesOf, fitHistory } from "../../../runtime/domain/history.ts";

/** A word is a token. */
const words = (text: string) => text.split(" ").length;
const tokensOf = (messages: readonly Message[]) =>
  messages.reduce((sum, { content, toolCalls }) => {
    const text = typeof content === "string" ? content : "";
    return sum + words(toolCalls ? text + JSON.stringify(toolCalls) : text) + 8;
  }, 0);
const saying = (role: Message["role"], n: number): Message => ({ role, content: Array(n).fill("word").join(" ") });

/** Exchanges of a user's message, replies and results of tools, as turns store them. */
const exchange = fc
  .record({
    asked: fc.integer({ min: 1, max: 60 }),
    rest: fc.array(fc.record({ call: fc.boolean(), n: fc.integer({ min: 1, max: 60 }) }), { maxLength: 4 }),
  })
  .map(({ asked, rest }): Message[] => [
    saying("user", asked),
    ...rest.flatMap(({ call, n }, at): Message[] =>
      call
        ? [
            { role: "assistant", content: "", toolCalls: [{ id: `${at}`, name: "shell", arguments: {} }] },
            { ...saying("tool", n), toolCallId: `${at}` },
          ]
        : [saying("assistant", n)],
    ),
  ]);
const history = fc.array(exchange, { minLength: 1, maxLength: 60 }).map((exchanges) => exchanges.flat());
const limit = fc.integer({ min: 1, max: 4_000 });

/** Where a history is cut, by counting everything: whole exchanges in steps of sixteen, else to three quarters of the limit. */
function cutOf(messages: readonly Message[], most: number): number {
  if (tokensOf(messages) <= most) return 0;
  const starts = messages.flatMap(({ role }, index) => (role === "user" && index > 0 ? [index] : []));
  const last = starts.at(-1) ?? 0;
  const cut = starts.find((start, n) => {
    const tokens = tokensOf(messages.slice(start));
    return tokens <= most && (n % 16 === 15 || start === last || tokens > most * 0.75);
  });
  return cut ?? last;
}

describe("a history that is fitted into a window", () => {
  it("is cut where counting everything would cut it", () => {
    fc.assert(
      fc.property(history, limit, (messages, most) => {
        expect(fitHistory(messages, most, words).dropped).toBe(cutOf(messages, most));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps the newest messages in their order, from a user's message on, and no more than fit", () => {
    fc.assert(
      fc.property(history, limit, (messages, most) => {
        const { messages: kept, dropped, tokens } = fitHistory(messages, most, words);
        const newest = messages.slice(dropped);
        expect(kept).toHaveLength(newest.length);
        expect(kept.at(-1)?.role).toBe(messages.at(-1)?.role);
        expect(kept[0]?.role).toBe("user");
        expect(tokensOf(kept)).toBeLessThanOrEqual(tokens);
        const lastExchange = messages.findLastIndex(({ role }) => role === "user");
        if (dropped < lastExchange || tokens <= most) {
          expect(kept).toEqual(newest);
          expect(tokensOf(kept)).toBeLessThanOrEqual(most);
        } else {
          // The newest exchange alone is too long: its messages stay, results that were read already in short.
          expect(dropped).toBe(lastExchange);
          for (const [n, message] of kept.entries())
            if (message.role !== "tool") expect(message).toEqual(newest[n]);
            else expect(words(String(message.content))).toBeLessThanOrEqual(words(String(newest[n]?.content)));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is whole, and nothing is counted, where its bytes fit", () => {
    const messages = [saying("user", 3), saying("assistant", 3)];
    const refuse = () => expect.unreachable();
    expect(fitHistory(messages, bytesOf(messages), refuse)).toMatchObject({ messages, dropped: 0 });
  });

  it("is counted from the newest message to the first that does not fit", () => {
    const messages = Array.from({ length: 1_000 }, (_, n) => saying(n % 2 ? "assistant" : "user", 92 + (n % 2)));
    let counted = 0;
    const counting = (text: string) => {
      counted += 1;
      return words(text);
    };
    const { dropped } = fitHistory([...messages, saying("user", 1)], 1_000, counting);
    expect(dropped).toBeGreaterThan(980);
    expect(counted).toBeLessThan(15);
  });

  it("gives a text beyond 32,768 units to no tokenizer, and takes two bytes for a token", () => {
    const counted: number[] = [];
    const counting = (text: string) => {
      counted.push(text.length);
      return words(text);
    };
    const long: Message = { role: "user", content: "é".repeat(32_769) };
    const messages = [long, saying("assistant", 2), saying("user", 2)];
    expect(fitHistory(messages, 32_769 + 28, counting)).toEqual({ messages, dropped: 0, tokens: 32_769 + 28 });
    expect(fitHistory(messages, 32_769 + 27, counting).dropped).toBe(2);
    expect(Math.max(...counted)).toBeLessThan(32_769);
  });
});
