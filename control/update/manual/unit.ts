/** What a unit that `cairn service install` wrote says of its node. Pure; `systemd.ts` there writes them. */

import { SIGNATURE } from "../../service-manager/install.ts";

export interface Unit {
  /** Of Node. */
  readonly node: string;
  /** Directory of the program's package.json, in which an update lets `dist` lead to another build. */
  readonly root: string;
  /** Deployment directory. */
  readonly dir: string;
  readonly home: string;
  /** Seconds that systemd waits for the node to end. */
  readonly stopTimeoutS: number;
}

const ENTRY = "/dist/runtime/main.js";
/** Of systemd itself. */
const DEFAULT_STOP_S = 90;

/** From what `systemctl cat` prints, changes of an operator included; null for a unit of another writer, or of another program. */
export function parseUnit(text: string): Unit | null {
  if (!text.includes(SIGNATURE)) return null;
  const [node, entry, ...args] = wordsOf(lastOf(text, "ExecStart") ?? "");
  const dir = argumentOf(args, "--dir");
  const home = argumentOf(args, "--home");
  if (node === undefined || entry === undefined || dir === undefined || home === undefined) return null;
  if (!entry.endsWith(ENTRY)) return null;
  const stop = Number(lastOf(text, "TimeoutStopSec"));
  const stopTimeoutS = Number.isFinite(stop) && stop > 0 ? stop : DEFAULT_STOP_S;
  return { node, root: entry.slice(0, -ENTRY.length), dir, home, stopTimeoutS };
}

function lastOf(text: string, key: string): string | undefined {
  return [...text.matchAll(new RegExp(`^${key}=(.+)$`, "gm"))].at(-1)?.[1];
}

/** Words in double quotes, as they are written; see `quoteWord`. */
function wordsOf(line: string): string[] {
  const quoted = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""]) => word);
  return quoted.map((word) => word.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$"));
}

function argumentOf(args: readonly string[], flag: string): string | undefined {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : args[at + 1];
}
