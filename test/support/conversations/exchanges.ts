/** What is said in a long conversation, what the model answers, and what goes wrong meanwhile: the same on every channel. */

import type { FakeReply } from "../../fakes/shared/script.ts";

export type Trouble =
  /** The platform takes nothing for a second, and says so. */
  | "rate-limited"
  /** Connections break, and new ones are refused, while the agent writes. */
  | "dropped"
  /** `kill -9` while the agent writes. */
  | "killed"
  /** `kill -9` when the reply is stored and the platform cannot be reached. */
  | "killed-unsent"
  /** The person stops the agent while it writes. */
  | "stopped"
  /** The person changes, or deletes, what they have written while it waits behind another message. */
  | "edited"
  | "deleted"
  /** The model's server fails. */
  | "failed"
  /** The agent asks, and the person chooses. */
  | "asked";

export interface Exchange {
  /** Begins with its key. */
  readonly said: string;
  /** What the model answers, one for each of its steps. */
  readonly replies: readonly FakeReply[];
  /** Content of a file that comes with the message. */
  readonly file?: string;
  readonly trouble?: Trouble;
  /** The next one is said at once. */
  readonly isUnawaited?: true;
}

/** A line that begins with a slash is a command, and no message of the conversation. */
export type ScriptEntry = Exchange | { readonly command: string; readonly answer: RegExp };

export const keyOf = (n: number): string => `[#${n}]`;
/** Number of the exchange that a text belongs to: the newest one in it. */
export const numberIn = (text: string): number => Number([...text.matchAll(/\[#(\d+)\]/g)].at(-1)?.[1] ?? -1);

/** The gate at which a model waits while something goes wrong. */
export const gateOf = (n: number): string => `exchange-${n}`;

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(" ");
const lines = (count: number): string => Array.from({ length: count }, (_, n) => `const line${n} = ${n};`).join("\n");
const FAMILY = "👩‍👩‍👧‍👦";

/** Texts with what platforms and splitting stumble over. */
const ANSWERS: readonly string[] = [
  "Yes.",
  "<b>not bold</b> & \"quoted\" 'twice' \\ back",
  "*one* **two** _three_ __four__ ~five~ `six` [seven](https://example.org/?a=b&c=d)",
  "@everyone and @user_1 and #channel and /status in the middle",
  `an emoji ${FAMILY}, a flag 🇨🇭, e\u0301 combined, and שלום from right to left`,
  "first paragraph\n\nsecond paragraph\n\n\n\nfourth, after two empty ones",
  "- a list\n  - within a list\n1. a number\n\n| a | b |\n|---|---|\n| 1 | 2 |",
  "> a quotation\n\nits answer …",
  words(450),
  words(900),
  `${words(60)}.\n\n`.repeat(20),
  `Before.\n\n\`\`\`ts\n${lines(120)}\n\`\`\`\n\nAfter.`,
  `\`\`\`\`md\n\`\`\`js\n${lines(250)}\n\`\`\`\n\`\`\`\`\nDone.`,
  `~~~\n${lines(90)}\n~~~`,
  FAMILY.repeat(500),
  "x".repeat(9_000),
  // The halves of a character are at both limits.
  `${"y".repeat(1_999)}😀${"z".repeat(2_095)}😀 end`,
  `${"a ".repeat(1_000)}${"b ".repeat(1_048)}`,
];

const SAID: readonly string[] = [
  "How are you?",
  "two\nlines",
  `emoji ${FAMILY} and e\u0301`,
  "<script>alert(1)</script> & *stars*",
  "```js\ncode()\n```",
  `long: ${"q ".repeat(900)}end`,
];

/** 64 exchanges and some commands, in the order in which they come. */
export function theScript(): readonly ScriptEntry[] {
  const script: ScriptEntry[] = [];
  let n = 0;
  const say = (more: Partial<Exchange> & { readonly text?: string } = {}): void => {
    const { text = SAID[n % SAID.length], ...given } = more;
    const said = `${keyOf(n)} ${text}`;
    script.push({ said, replies: [{ text: `answer ${n}:\n${ANSWERS[n % ANSWERS.length]}` }], ...given });
    n++;
  };
  const plain = (count: number): void => {
    for (let i = 0; i < count; i++) say();
  };
  const held = (text: string): readonly FakeReply[] => [
    { text: [`answer ${n}: begun, `, "and ", text], hold: { gate: gateOf(n), after: 2 } },
  ];
  plain(ANSWERS.length);
  script.push({ command: "/status", answer: /./ });
  // Words that appear while they are written, in one message and in several.
  say({ replies: [{ text: `answer ${n}: ${words(40)}`, paceMs: 60 }] });
  say({ replies: [{ text: `answer ${n}: ${words(900)}`, paceMs: 4 }] });
  say({ replies: [{ text: `answer ${n}:\n\`\`\`js\n${lines(200)}\n\`\`\``, paceMs: 4 }] });
  say({ file: "the words of the file" });
  say({ trouble: "rate-limited" });
  say({ trouble: "rate-limited", replies: [{ text: `answer ${n}: ${words(1_500)}` }] });
  say({ trouble: "dropped", replies: held("the rest") });
  say({ trouble: "dropped", replies: held(words(1_500)) });
  script.push({ command: "/think high", answer: /./ });
  plain(4);
  say({ trouble: "killed", replies: held("the end") });
  say({ trouble: "killed", replies: held(words(900)) });
  plain(3);
  say({ trouble: "killed-unsent", replies: held("whole") });
  say({ trouble: "killed-unsent", replies: held(words(1_500)) });
  say({ trouble: "failed", replies: [{ fault: { kind: "status", status: 400 } }] });
  say();
  say({ trouble: "stopped", replies: held("never said") });
  say();
  script.push({ command: "/new", answer: /./ });
  plain(3);
  const asking = { toolCalls: [{ id: "c1", name: "ask", arguments: {} }] };
  say({ trouble: "asked", replies: [asking, { text: `answer ${n}: chosen` }] });
  say({ trouble: "asked", replies: [{ text: `first ${n}, then`, ...asking }, { text: `answer ${n}: ${words(900)}` }] });
  plain(4);
  // Behind a long reply that the platform does not take at once.
  say({ trouble: "rate-limited", replies: [{ text: `answer ${n}: ${words(1_500)}` }], isUnawaited: true });
  say({ trouble: "edited", isUnawaited: true });
  say({ trouble: "deleted" });
  plain(4);
  say({ replies: [{ text: `answer ${n}: over`, fault: { kind: "cut", after: 2, how: "end" } }], trouble: "failed" });
  plain(64 - n);
  return script;
}

export const isExchange = (line: ScriptEntry): line is Exchange => "said" in line;
