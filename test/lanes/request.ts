/** What the arguments of the test command ask for. */

import { LANES } from "./lanes.ts";
import { listed } from "./tools.ts";

export interface Request {
  /** Nothing was chosen: all checks and all lanes. */
  readonly complete: boolean;
  /** Names after `--lane`. */
  readonly lanes: readonly string[];
  /** Words that are no options: Vitest runs the files whose path holds one. */
  readonly paths: readonly string[];
  /** For Vitest: everything but `--lane`. */
  readonly vitest: readonly string[];
}

/** Options whose value is the next word; other values stand behind `=`. */
const NAMED = ["-t", "--testNamePattern"];

/** Throws for a lane that does not exist. */
export function readArguments(args: readonly string[]): Request {
  const lanes: string[] = [];
  const vitest: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--lane") {
      at += 1;
      if (args[at] === undefined) throw new Error("--lane wants the name of a lane");
      lanes.push(args[at] ?? "");
    } else if (word.startsWith("--lane=")) lanes.push(word.slice("--lane=".length));
    else vitest.push(word);
  }
  const names = LANES.map(({ name }) => name);
  const isValue = (at: number): boolean => NAMED.includes(vitest[at - 1] ?? "");
  const paths = vitest.filter((word, at) => !word.startsWith("-") && !isValue(at));
  return {
    complete: args.length === 0,
    lanes: [...listed("--lane", lanes.join(","), names)],
    paths: paths.map((path) => path.replace(/^\.\//, "").replace(/:\d+$/, "")),
    vitest,
  };
}
