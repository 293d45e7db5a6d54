import { expect, test } from "vitest";
import type { Mark } from "../../../control/output/terminal.ts";
import { reviewText } from "../../../control/wizard/prompts/review.ts";
import { renderInit } from "../../../control/wizard/render.ts";
import type { InitResult } from "../../../control/wizard/setup.ts";

const same = (text: string): string => text;
const coloured = (text: string): string => `\u001b[1m${text}\u001b[22m`;
const PLAIN: Mark = { title: same, good: same, warn: same, error: same, dim: same, name: same };
const WIDTH = 60;

const RESULT: InitResult = {
  dir: "/srv/cairn",
  home: "/srv/cairn/.cairn",
  file: "/srv/cairn/cairn.yaml",
  target: "manual",
  agent: "main",
  agents: ["main"],
  channels: [],
  listen: "127.0.0.1:7433",
  url: "https://127.0.0.1:7433",
  memory: "embedded",
  provider: {
    id: "ollama",
    kind: "ollama",
    model: "llama3.2:latest",
    source: "local",
    reason: "Ollama answers at 127.0.0.1:11434 and has llama3.2:latest",
  },
  token: "generated",
  files: [],
  diff: null,
  notes: [],
  next: ["cairn start", "cairn chat"],
};

/** As in a source tree, with a directory of its own. */
const typed = (text: string): string => text.replace(/`cairn (\w+)`/g, "`npm run -s cairn -- $1 --dir /srv/cairn`");

test("the outcome of a setup is broken between words and around commands", () => {
  const lines = renderInit(RESULT, PLAIN, { width: WIDTH, typed }).split("\n");
  expect(lines.filter((line) => line.length > WIDTH)).toEqual([]);
  expect(lines).toContain("            127.0.0.1:11434 and has llama3.2:latest)");
  expect(lines).toContain("`npm run -s cairn -- chat --dir /srv/cairn`");
});

test("the commands that come next have their colour, wherever the line is broken", () => {
  const shown = renderInit(RESULT, { ...PLAIN, name: coloured }, { width: WIDTH, typed });
  expect(shown).toContain(`\n${coloured("`npm run -s cairn -- chat --dir /srv/cairn`")}`);
});

test("a note of the review has the whole width: its colour has none", () => {
  const review = { dir: "/srv/cairn", text: "", isDiff: true, files: [], secrets: [] };
  const words = "Start Ollama, or write a key into the file of secrets, then go on.";
  const wide = reviewText({ ...review, notes: [words] }, { ...PLAIN, warn: coloured }, words.length + 6);
  expect(wide).toContain(`${coloured("Note:")} ${words}`);
});
