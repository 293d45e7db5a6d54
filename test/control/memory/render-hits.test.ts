import { expect, it } from "vitest";
import { renderAnswered, renderHits } from "../../../control/memory/render-hits.ts";
import type { Mark } from "../../../control/output/terminal.ts";
import type { MemoryHit } from "../../../runtime/contracts/memory.ts";

const same = (text: string): string => text;
const PLAIN: Mark = { title: same, good: same, warn: same, error: same, dim: same, name: same };
const HIT: MemoryHit = {
  kind: "message",
  id: "m1",
  conversation_id: "c1",
  agent: "main",
  channel: "agent",
  role: "user",
  content: "",
  created_at: "2030-01-31T12:00:00.000Z",
  score: 0.12345,
  scores: { fts: 0, semantic: 0, temporal: 0, importance: 0 },
  access_count: 0,
};

it("tells who said it when, and indents what was said", () => {
  expect(renderHits([{ ...HIT, content: "one\n\ntwo\n" }], PLAIN)).toBe(
    "main/user 2030-01-31 12:00 score 0.123, m1\n  one\n\n  two",
  );
});

it("marks a summary as one", () => {
  expect(renderHits([{ ...HIT, kind: "summary", content: "x" }], PLAIN)).toMatch(/^summary 2030/);
});

it("cuts a long one between characters, and lets none steer the terminal", () => {
  const text = renderHits([{ ...HIT, content: `${"x".repeat(399)}\u{1f680}tail` }], PLAIN);
  expect(text.endsWith(`${"x".repeat(399)}…`)).toBe(true);
  expect(renderHits([{ ...HIT, content: "\u001b[2J" }], PLAIN)).not.toContain("\u001b");
});

it("puts the answer above the hits, under the numbers by which it names them, and lets it steer no terminal", () => {
  const hits = [
    { ...HIT, content: "one" },
    { ...HIT, id: "m2", content: "two" },
  ];
  const answer = { text: "It is two [2].\u001b[2J", citations: ["m2"] };
  expect(renderAnswered({ answer }, hits, PLAIN)).toBe(
    "It is two [2].\\u001b[2J\n\n[1] main/user 2030-01-31 12:00 score 0.123, m1\n  one\n\n" +
      "[2] main/user 2030-01-31 12:00 score 0.123, m2\n  two",
  );
  expect(renderAnswered({ answer_missing: "The model slept." }, [HIT], PLAIN)).toMatch(
    /^No answer: The model slept\.\n\n\[1\] main/,
  );
});

it("names the session, and marks the words that were looked for", () => {
  const marking: Mark = { ...PLAIN, title: (text) => `[${text}]` };
  const search = { query: "which port", mode: "hybrid" };
  expect(renderHits([{ ...HIT, session: "terminal", content: "The port is 7433." }], marking, search)).toBe(
    "main/user 2030-01-31 12:00 in terminal score 0.123, m1\n  The [port] is 7433.",
  );
});

it("shows of a long text the part with the words that were looked for", () => {
  const text = renderHits([{ ...HIT, content: `${"x ".repeat(400)}the port is 7433` }], PLAIN, {
    query: "port",
    mode: "fts",
  });
  expect(text).toMatch(/\n {2}…(x )+the port is 7433$/);
});
