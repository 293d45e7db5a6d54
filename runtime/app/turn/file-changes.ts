/** Files of the workspace that the calls of a turn change: handed to the hooks once the calls of a reply that may change any have ended. */

import type { Tool, ToolResult } from "../../contracts/tool.ts";
import type { PlannedCall } from "./turn-resume.ts";

export class FileChanges {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #changed = new Set<string>();
  /** Steps of calls of the reply that may still change files. */
  readonly #ahead = new Set<number>();

  constructor(tools: ReadonlyMap<string, Tool>) {
    this.#tools = tools;
  }

  /** The calls of a reply, before the first one runs. */
  begin(calls: readonly PlannedCall[]): void {
    this.#ahead.clear();
    for (const { call, n } of calls) if (this.#argumentsOf(call.name).length > 0) this.#ahead.add(n);
  }

  /** The call will not run. */
  refused({ n }: Pick<PlannedCall, "n">): void {
    this.#ahead.delete(n);
  }

  /** A call has run: what was changed since this has last returned anything, and nothing while calls follow that may change more. */
  ended({ n, call }: Pick<PlannedCall, "n" | "call">, result: ToolResult): readonly string[] {
    this.#ahead.delete(n);
    if (result.isError !== true) {
      for (const name of this.#argumentsOf(call.name)) {
        const path = call.arguments[name];
        if (typeof path === "string") this.#changed.add(path);
      }
    }
    if (this.#ahead.size > 0) return [];
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  #argumentsOf(tool: string): readonly string[] {
    return this.#tools.get(tool)?.changedArguments ?? [];
  }
}
