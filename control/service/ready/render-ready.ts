/** The ready screen and the end of its node in words, for terminals of any width and without control of the cursor. */

import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { wrap } from "../../output/wrap.ts";
import type { Found } from "./found.ts";
import type { NodeEnd } from "./screen.ts";

const INDENT = 11;
const KEYS: readonly (readonly [string, string])[] = [
  ["c", "chat with the agent"],
  ["d", "doctor: look at everything"],
  ["l", "follow the log"],
  ["q", "quit: the node ends, too"],
];

export interface ReadyPage {
  readonly mark: Mark;
  /** Columns of the terminal; nothing is wrapped without them. */
  readonly width: number | undefined;
  /** Commands as they have to be typed here: they are longer then, and lines are broken after it. */
  readonly typed: (text: string) => string;
}

/** No newline at the end. */
export function renderReady(found: Found, page: ReadyPage): string {
  const { mark } = page;
  const { url, agent } = found;
  const rows: readonly (readonly [string, string, (text: string) => string])[] = [
    ["model", modelWords(found), found.model.none || found.model.available === false ? mark.warn : plain],
    ["search", searchWords(found), found.embedding?.answers === false ? mark.warn : plain],
    ["sandbox", sandboxWords(found), typeof found.sandbox === "object" || found.sandbox === "off" ? mark.warn : plain],
    ["url", url, mark.name],
    ["talk", `\`cairn chat --agent ${agent}\`, here or in another terminal`, plain],
  ];
  return [
    mark.good("The node is ready."),
    "",
    ...rows.flatMap(([label, text, colour]) => row(mark.dim(label.padEnd(INDENT)), text, colour, page)),
    "",
    ...KEYS.flatMap(([key, text]) => row(`${mark.title(key)}  `, text, plain, page, 3)),
  ].join("\n");
}

/** Why there is no node on this terminal any more. */
export function renderNodeEnd(end: NodeEnd, { mark, width, typed }: ReadyPage): string {
  if (end.kind === "stopped") return "The node has stopped.";
  if (end.kind === "restarted") {
    const text = `The node was restarted from elsewhere and runs in the background now: process ${end.pid}, ${end.url}. Stop it with \`cairn stop\`.`;
    return wrap(typed(text), 0, width).join("\n");
  }
  const said = end.words === "" ? "" : `\nIt said:\n${visible(end.words)}`;
  const text = `The node has ended by itself (${end.how}). See \`cairn logs\`; \`cairn start\` starts it again.`;
  return `${wrap(typed(text), 0, width).map(mark.error).join("\n")}${said}`;
}

function row(
  head: string,
  text: string,
  colour: (text: string) => string,
  { width, typed }: ReadyPage,
  indent = INDENT,
): string[] {
  const [first = "", ...rest] = wrap(visible(typed(text)), indent, width);
  return [`${head}${colour(first)}`, ...rest.map((line) => " ".repeat(indent) + colour(line))];
}

function modelWords({ agent, model: { provider, name, none, available } }: Found): string {
  if (none) {
    return `none, ${agent} answers from the memory alone; \`cairn provider --help\` shows how to give it one`;
  }
  const state = available === null ? "" : available ? ", available" : "; it is not available, `cairn doctor` says why";
  return `${provider}${name === "" ? "" : ` (${name})`}${state}`;
}

function searchWords({ embedding }: Found): string {
  if (embedding === null) return "by words and time; by meaning once memory.embedding is set";
  const name = `${embedding.provider}${embedding.model === undefined ? "" : `, ${embedding.model}`}`;
  return embedding.answers === false
    ? `by words and time; by meaning once the embedding model answers (${name})`
    : `by words, time and meaning (${name})`;
}

function sandboxWords({ sandbox }: Found): string {
  if (sandbox === "unused") return "not needed, no agent runs commands";
  if (sandbox === "off") return "none, agents run commands as you (tools.shell.sandbox)";
  if (sandbox === "works") return "bubblewrap, for agents' commands";
  return `missing, agents' commands are refused: ${sandbox.problem}. ${sandbox.fix}`;
}

function plain(text: string): string {
  return text;
}
