/**
 * The tools of a node. They may change while it runs; a turn takes one snapshot at its start and keeps it, so that what the
 * model was offered stays callable to the turn's end: a tool that is unregistered meanwhile has to say itself that it cannot
 * be used any more. The next turn, and a turn that is taken up again, sees it no longer.
 */

import type { Tool } from "../contracts/tool.ts";

export interface ToolSnapshot {
  /** Rises with every change. */
  readonly version: number;
  /** In the order in which agents see them. */
  readonly tools: readonly Tool[];
}

export class ToolRegistry {
  #snapshot: ToolSnapshot;
  /** Names of the tools of each source that changes them together. */
  readonly #sources = new Map<string, ReadonlySet<string>>();

  constructor(tools: readonly Tool[] = []) {
    this.#snapshot = { version: 0, tools: [] };
    for (const tool of tools) this.register(tool);
  }

  /** Never changes; a later one may be another. */
  snapshot(): ToolSnapshot {
    return this.#snapshot;
  }

  /** Behind the tools that are there. Throws RangeError when one of them has its name: none is ever put in another's place. */
  register(tool: Tool): void {
    const { tools } = this.#snapshot;
    if (tools.some(({ name }) => name === tool.name)) throw new RangeError(`there is a tool ${tool.name} already`);
    this.#replace([...tools, tool]);
  }

  /** False where there is none of that name. */
  unregister(name: string): boolean {
    const { tools } = this.#snapshot;
    const rest = tools.filter((tool) => tool.name !== name);
    if (rest.length === tools.length) return false;
    this.#replace(rest);
    return true;
  }

  /**
   * All tools of a source (an MCP server) in place of those that it had, as one change. They stand behind all others, ordered by their
   * sources, so that a source that comes back changes no order. Returns those whose names were taken: they are left out.
   */
  replaceSource(source: string, tools: readonly Tool[]): readonly Tool[] {
    const own = this.#sources.get(source) ?? new Set();
    const rest = this.#snapshot.tools.filter(({ name }) => !own.has(name));
    const taken = new Set(rest.map(({ name }) => name));
    const refused: Tool[] = [];
    const added: Tool[] = [];
    for (const tool of tools) {
      (taken.has(tool.name) ? refused : added).push(tool);
      taken.add(tool.name);
    }
    if (added.length === 0) this.#sources.delete(source);
    else this.#sources.set(source, new Set(added.map(({ name }) => name)));
    if (own.size === 0 && added.length === 0) return refused;
    const behind = new Set([...this.#sources].flatMap(([other, names]) => (other > source ? [...names] : [])));
    this.#replace([
      ...rest.filter(({ name }) => !behind.has(name)),
      ...added,
      ...rest.filter(({ name }) => behind.has(name)),
    ]);
    return refused;
  }

  #replace(tools: readonly Tool[]): void {
    this.#snapshot = Object.freeze({ version: this.#snapshot.version + 1, tools: Object.freeze([...tools]) });
  }
}
