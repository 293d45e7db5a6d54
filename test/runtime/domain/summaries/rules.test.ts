import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSummary } from "../../../../runtime/domain/summaries/check.ts";
import { preamble } from "../../../../runtime/domain/summaries/entries.ts";
import { systemPrompt, userPrompt } from "../../../../runtime/domain/summaries/prompts.ts";
import { isDue, MAX_ATTEMPTS, nextStep, retryAfterMs, type Tree } from "../../../../runtime/domain/summaries/steps.ts";
import { createTokenizer } from "../../../../runtime/domain/tokens.ts";

const count = createTokenizer();
const MINUTE = 60_000;
const DAY = 86_400_000;

describe("a conversation", () => {
  it.each([
    [10, 0, false, true],
    [9, 0, false, false],
    [9, 15 * MINUTE, false, true],
    [5, 15 * MINUTE, false, true],
    [5, 15 * MINUTE - 1, false, false],
    [4, DAY, false, false],
    [2, 4 * DAY, false, true],
    [1, 400 * DAY, false, false],
    [1, 0, true, true],
    [0, DAY, true, false],
  ])("with %i unsummarized messages, idle for %i ms, ready %s: due %s", (messages, idleMs, ready, due) => {
    expect(isDue({ messages, idleMs, ready })).toBe(due);
  });
});

describe("the next step", () => {
  it.each<[Tree, ReturnType<typeof nextStep>]>([
    [{ messagesDue: true, leaves: 0, branches: 0 }, "leaf"],
    [{ messagesDue: true, leaves: 7, branches: 0 }, "leaf"],
    [{ messagesDue: true, leaves: 8, branches: 0 }, "branch"],
    [{ messagesDue: false, leaves: 5, branches: 0 }, "branch"],
    [{ messagesDue: false, leaves: 4, branches: 2 }, null],
    [{ messagesDue: false, leaves: 4, branches: 3 }, "root"],
    [{ messagesDue: true, leaves: 8, branches: 5 }, "root"],
    [{ messagesDue: false, leaves: 0, branches: 0 }, null],
  ])("of %o is %s", (tree, step) => {
    expect(nextStep(tree)).toBe(step);
  });

  it("comes to an end for every backlog, with branches of 5 to 8 leaves and roots of 3 to 5 branches", () => {
    fc.assert(
      fc.property(fc.nat(300), (backlog) => {
        let due = backlog;
        let leaves = 0;
        let branches = 0;
        for (let steps = 0; ; steps += 1) {
          expect(steps).toBeLessThan(2 * backlog + 10);
          const step = nextStep({ messagesDue: due > 0, leaves, branches });
          if (step === null) break;
          if (step === "leaf") {
            due -= 1;
            leaves += 1;
          } else if (step === "branch") {
            expect(leaves).toBeGreaterThanOrEqual(5);
            leaves -= Math.min(leaves, 8);
            branches += 1;
          } else {
            expect(branches).toBeGreaterThanOrEqual(3);
            branches -= Math.min(branches, 5);
          }
        }
        expect(due).toBe(0);
        expect(leaves).toBeLessThan(5);
        expect(branches).toBeLessThan(3);
      }),
    );
  });

  it("after failures waits longer each time, and is given up after the fifth", () => {
    expect([1, 2, 3, 4, 5].map(retryAfterMs)).toEqual(
      [1, 5, 25, 125]
        .map((n) => n * MINUTE)
        .concat([Number.NaN])
        .map((n) => (Number.isNaN(n) ? null : n)),
    );
    expect(retryAfterMs(MAX_ATTEMPTS)).toBeNull();
  });
});

describe("an answer", () => {
  const source = "[#1 2026-05-01T10:12Z main/system]\nPR #482 was merged. The formula was $x^2$.";
  const given = { truncated: false, budget: 60, source, identifiers: ["#482"] };

  it("may stand when it is short enough, plain, and holds every identifier", () => {
    expect(checkSummary({ ...given, answer: "At 2026-05-01T10:12Z #482 was merged." }, count)).toEqual({
      objections: [],
      completed: null,
    });
  });

  it.each([
    ["is empty", { answer: " \n" }, /empty/],
    ["was cut off", { answer: "#482", truncated: true }, /cut off at its limit of 60/],
    ["is over its budget", { answer: `#482 ${"word ".repeat(80)}` }, /had \d+ tokens; 60 are allowed/],
    ["holds LaTeX", { answer: "#482 \\rightarrow main" }, /LaTeX \(\\rightarrow\)/],
    ["names a pull request that nobody named", { answer: "#482 and #999" }, /does not occur in the input: #999/],
    ["leaves an identifier out", { answer: "Something was merged." }, /left out .*#482/],
  ])("that %s is refused, and the model is told why", (_, over, words) => {
    const { objections } = checkSummary({ ...given, ...over }, count);
    expect(objections.map((objection) => objection.words).join(" ")).toMatch(words);
    // Logs and operators are told without a word of what was said.
    expect(objections.map(({ reason }) => reason).join(" ")).not.toMatch(/#|\\/);
  });

  it("may quote what the conversation itself wrote in LaTeX", () => {
    expect(checkSummary({ ...given, answer: "#482; the formula was $x^2$." }, count).objections).toEqual([]);
  });

  it("is completed with identifiers only where nothing else is wrong and they fit", () => {
    expect(checkSummary({ ...given, answer: "It was merged." }, count).completed).toBe(
      "It was merged.\n\nIdentifiers in system messages: #482",
    );
    expect(checkSummary({ ...given, answer: "It was merged.", budget: 6 }, count).completed).toBeNull();
    expect(checkSummary({ ...given, answer: "It was \\times merged." }, count).completed).toBeNull();
  });
});

describe("the instructions", () => {
  it.each(["leaf", "branch", "root"] as const)(
    "for a %s hold the rules that all levels share, and the budget",
    (kind) => {
      const prompt = systemPrompt(kind, 7_000);
      for (const rule of [
        /every distinct topic/i,
        /never invent/i,
        /character for character/i,
        /pull-request numbers, commits, skill names, line counts/,
        /No LaTeX/,
        /Plain Unicode/i,
        /to the minute/,
        /At most 7000 tokens/,
      ]) {
        expect(prompt).toMatch(rule);
      }
      expect(count(prompt)).toBeLessThan(900);
    },
  );

  it("are different ones for each level", () => {
    expect(new Set(["leaf", "branch", "root"].map((kind) => systemPrompt(kind as "leaf", 100))).size).toBe(3);
  });

  it("come with a preamble: id, agent, channel, title, span and count", () => {
    const head = { id: "c1", agent: "main", channel: "telegram", title: "The\nmove" };
    const span = { earliest: new Date("2026-05-01T10:12:34Z"), latest: new Date("2026-05-02T09:00:00Z"), messages: 42 };
    expect(preamble(head, span)).toBe(
      "Conversation: c1\nAgent: main\nChannel: telegram\nTitle: The move\nTime span: 2026-05-01T10:12Z to 2026-05-02T09:00Z\nMessages: 42",
    );
    expect(preamble({ ...head, title: " " }, span)).toContain("Title: none");
  });

  it("say at the end what was wrong with the answer before", () => {
    const question = { kind: "leaf", preamble: "P", entries: ["E"], identifiers: ["#1"], budget: 10 } as const;
    expect(userPrompt({ ...question, objections: [] })).not.toContain("earlier answer");
    expect(userPrompt({ ...question, objections: ["It was empty."] })).toMatch(/accepted:\n- It was empty\.\n.*anew/s);
  });
});
