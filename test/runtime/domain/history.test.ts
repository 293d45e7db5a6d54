import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryEntry } from "../../../runtime/contracts/memory.ts";
import type { Message } from "../../../runtime/contracts/message.ts";
import { bytesOf, fitHistory, toMessages } from "../../../runtime/domain/history.ts";

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

/** Where a history is cut, by counting everything: the least hash of those that keep half of the limit, else what keeps most. */
function cutOf(messages: readonly Message[], most: number): number {
  if (tokensOf(messages) <= most) return 0;
  const starts = messages.flatMap(({ role }, index) => (role === "user" && index > 0 ? [index] : []));
  const fitting = starts
    .map((start) => ({
      start,
      tokens: tokensOf(messages.slice(start)),
      hash: sha256(String(messages[start]?.content)),
    }))
    .filter(({ tokens }) => tokens <= most);
  const [least] = fitting
    .filter(({ tokens }) => tokens >= most / 2)
    .sort((a, b) => a.hash.localeCompare(b.hash) || a.start - b.start);
  return (least ?? fitting[0])?.start ?? starts.at(-1) ?? 0;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Calls whose results do not follow them at once, and results that follow no call. */
function unanswered(messages: readonly Message[]): string[] {
  const wrong: string[] = [];
  let open = new Set<string>();
  for (const { role, toolCalls = [], toolCallId = "" } of messages) {
    if (role === "tool" && !open.delete(toolCallId)) wrong.push(`result of ${toolCallId}`);
    if (role === "tool") continue;
    wrong.push(...[...open].map((id) => `call ${id}`));
    open = new Set(toolCalls.map(({ id }) => id));
  }
  return [...wrong, ...[...open].map((id) => `call ${id}`)];
}

/** Rows of one session as they are stored: of each turn the user's message, replies with their calls, steers, the answer. */
const storedTurns = fc
  .array(
    fc.record({
      steps: fc.array(fc.record({ said: fc.boolean(), calls: fc.integer({ min: 0, max: 3 }), steered: fc.boolean() }), {
        maxLength: 4,
      }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) =>
    turns.flatMap(({ steps }, turn): HistoryEntry[] => {
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
      let n = 1;
      return [
        row(0, { role: "user", content: "question" }),
        ...steps.flatMap(({ said, calls, steered }) => {
          const step = n++;
          return [
            ...(said ? [row(step, { content: "On it.", metadata: { step } })] : []),
            ...Array.from({ length: calls }, () => {
              const position = n++;
              const metadata = { step, position, tool_call_id: `c${position}` };
              return row(position, { tool_name: "shell", tool_result: "done", metadata });
            }),
            ...(steered ? [row(n++, { role: "system", content: "also this", metadata: { steer: true } })] : []),
          ];
        }),
        row(n, { content: "Answer.", metadata: { step: n } }),
      ];
    }),
  );

describe("rows of a session as messages", () => {
  it("pair every call with its results, wherever the rows that were read begin", () => {
    fc.assert(
      fc.property(storedTurns, fc.nat(), (rows, from) => {
        const read = rows.slice(from % rows.length);
        const messages = toMessages(read);
        expect(unanswered(messages)).toEqual([]);
        expect(messages.filter(({ role }) => role === "tool")).toHaveLength(
          read.filter(({ tool_name }) => tool_name !== null).length,
        );
      }),
      { numRuns: 300 },
    );
  });

  it("are text where others captured calls, whose ids nobody knows", () => {
    const captured = {
      id: "1",
      created_at: "",
      metadata: {},
      role: "tool",
      content: "",
      tool_result: "two files",
    } as const;
    expect(toMessages([{ ...captured, tool_name: "ls", tool_args: { path: "." } }])).toEqual([
      { role: "system", content: '[ls] {"path":"."} -> two files' },
    ]);
  });
});

describe("a history that is fitted into a window", () => {
  it("is cut where counting everything would cut it", () => {
    fc.assert(
      fc.property(history, limit, (messages, most) => {
        expect(fitHistory(messages, most, words).dropped).toBe(cutOf(messages, most));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps its head for many turns, also where the rows that are read begin later with every turn", () => {
    const turn = (n: number): Message[] => [
      { role: "user", content: `question ${n} ${"word ".repeat(n % 7)}` },
      saying("assistant", 20 + (n % 5)),
    ];
    const heads: unknown[] = [];
    for (let newest = 100; newest < 300; newest++) {
      const read = Array.from({ length: 80 }, (_, n) => turn(newest - 79 + n)).flat();
      const { messages, tokens } = fitHistory(read, 2_000, words);
      expect(tokens).toBeGreaterThanOrEqual(1_000);
      heads.push(messages[0]?.content);
    }
    const changes = heads.filter((head, n) => n > 0 && head !== heads[n - 1]).length;
    expect(changes).toBeLessThan(40);
  });

  it("keeps every call with its results, and no result without its call", () => {
    fc.assert(
      fc.property(history, limit, (messages, most) => {
        const { messages: kept } = fitHistory(messages, most, words);
        expect(unanswered(kept)).toEqual([]);
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
