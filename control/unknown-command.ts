/** What is said of a command line that names no command: what was meant, as far as it can be known. Pure. */

import { distance } from "fastest-levenshtein";
import { UsageError } from "./output/failure.ts";

/** What people type who know other programs, and the command that does it here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  add: "agent add",
  ask: "chat",
  check: "doctor",
  configure: "config",
  create: "init",
  deploy: "infra up",
  diagnose: "doctor",
  find: "memory search",
  health: "status",
  info: "status",
  install: "init",
  log: "logs",
  models: "model",
  ps: "status",
  providers: "provider",
  recall: "memory search",
  reload: "restart",
  run: "start",
  search: "memory search",
  serve: "start",
  setup: "init",
  tail: "logs",
  talk: "chat",
  tokens: "token list",
  up: "start",
  down: "stop",
  kill: "stop",
  upgrade: "update",
  "agent create": "agent add",
  "agent delete": "agent remove",
  "agent new": "agent add",
  "agent rm": "agent remove",
  "config check": "config validate",
  "config edit": "config",
  "config get": "config validate",
  "config show": "config validate",
  "config set": "config",
  "infra apply": "infra up",
  "infra delete": "infra destroy",
  "infra deploy": "infra up",
  "infra down": "infra destroy",
  "infra plan": "infra preview",
  "memory dump": "memory export",
  "memory find": "memory search",
  "memory grep": "memory search",
  "memory load": "memory import",
  "memory query": "memory search",
  "memory save": "memory backup",
  "memory status": "memory stats",
  "plugin install": "plugin add",
  "plugin ls": "plugins list",
  "plugin new": "plugin init",
  "plugin rm": "plugin remove",
  "plugin uninstall": "plugin remove",
  "plugins install": "plugin add",
  "plugins ls": "plugins list",
  "service remove": "service uninstall",
  "token add": "token create",
  "token delete": "token revoke",
  "token new": "token create",
  "token remove": "token revoke",
  "token renew": "token rotate",
};

/** Letters that may be wrong. */
const SLIPS = 2;

export interface Commands {
  /** With blanks between the words. */
  readonly ids: readonly string[];
  /** Commands that take arguments behind their name. */
  readonly withArguments: ReadonlySet<string>;
}

/** Null where the line names a command, a topic, or nothing but flags. */
export function unknownCommand(argv: readonly string[], { ids, withArguments }: Commands): UsageError | null {
  const end = argv.findIndex((word) => word.startsWith("-"));
  const words = end === -1 ? argv : argv.slice(0, end);
  const isTopic = (id: string): boolean => ids.some((one) => one.startsWith(`${id} `));
  for (let count = 1; count <= words.length; count++) {
    const typed = words.slice(0, count).join(" ");
    if (withArguments.has(typed)) return null;
    if (ids.includes(typed) || isTopic(typed)) continue;
    const before = words.slice(0, count - 1).join(" ");
    if (ids.includes(before) && !isTopic(before)) {
      return new UsageError(`\`cairn ${before}\` takes no argument: ${words[count - 1]}.`, helpOf(before));
    }
    const meant = wholeCommand(words, count, ids) ?? suggestion(typed, before, ids);
    const question = meant === null ? "" : `Did you mean \`cairn ${meant}\`? `;
    return new UsageError(`There is no command \`${typed}\`.`, `${question}${helpOf(isTopic(before) ? before : "")}`);
  }
  return null;
}

function helpOf(id: string): string {
  return `See \`cairn ${id === "" ? "" : `${id} `}--help\`.`;
}

/** A topic in the plural, or with another slip, before a command that it has: `tokens revoke`. */
function wholeCommand(words: readonly string[], count: number, ids: readonly string[]): string | null {
  const [wrong = "", next] = words.slice(count - 1);
  if (count !== 1 || next === undefined) return null;
  const near = ids.filter((id) => {
    const [topic = "", command] = id.split(" ");
    return command === next && distance(wrong, topic) <= SLIPS;
  });
  return near.length === 1 ? (near[0] ?? null) : null;
}

/** By meaning first, then by spelling: within the topic, and no further away than a slip of the fingers. */
function suggestion(typed: string, topic: string, ids: readonly string[]): string | null {
  const meant = SYNONYMS[typed];
  if (meant !== undefined && ids.includes(meant)) return meant;
  const topics = ids.filter((id) => id.includes(" ")).map((id) => id.slice(0, id.lastIndexOf(" ")));
  const near = [...new Set([...ids, ...topics])]
    .filter((id) => topic === "" || id.startsWith(`${topic} `))
    .map((id) => ({ id, edits: distance(typed, id) }))
    .sort((one, other) => one.edits - other.edits)[0];
  const last = typed.slice(topic.length).trim();
  return near !== undefined && near.edits <= Math.min(SLIPS, Math.ceil(last.length / 3)) ? near.id : null;
}
