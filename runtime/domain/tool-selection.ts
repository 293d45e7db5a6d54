/**
 * Which tools a turn gets, by its agent and by whose turn it is. Exact names, so that a new tool is never let in by a
 * pattern that was written before it.
 */

export interface ToolSelection {
  /** Only these; everything there is when absent. */
  readonly include?: readonly string[] | undefined;
  /** Not these; stronger than `include`. */
  readonly exclude?: readonly string[] | undefined;
}

export interface SelectedTools<T> {
  readonly tools: readonly T[];
  /** Names in the selection that no tool has, in the order in which they were written, each once. */
  readonly unknown: readonly string[];
}

/** `agents.<name>.tools`. */
export interface AgentToolSelection extends ToolSelection {
  /** For turns that are not the owner's; `include` is `TOOLS_OF_OTHERS` when absent. */
  readonly others?: ToolSelection | undefined;
}

export interface AgentTools<T> {
  /** In the owner's turns. */
  readonly owner: SelectedTools<T>;
  /** In turns of all other users; never one that the owner's turns lack, and `unknown` names those, too. */
  readonly others: SelectedTools<T>;
}

/** They see the conversations of the turn's own user and nothing else; every other tool is given by the configuration. */
export const TOOLS_OF_OTHERS: readonly string[] = ["memory_search", "memory_browse"];

/** Keeps the order of `available`. Unknown names select nothing and are reported, for a warning at start. */
export function selectTools<T extends { readonly name: string }>(
  available: readonly T[],
  selection: ToolSelection = {},
): SelectedTools<T> {
  const names = new Set(available.map((tool) => tool.name));
  const { include, exclude = [] } = selection;
  const included = include && new Set(include);
  const excluded = new Set(exclude);
  const unknown = [...new Set([...(include ?? []), ...exclude])].filter((name) => !names.has(name));
  const tools = available.filter(({ name }) => (included === undefined || included.has(name)) && !excluded.has(name));
  return { tools, unknown };
}

/** Both sets of an agent. Names that are missing are reported where they were written; those of the default are not. */
export function selectAgentTools<T extends { readonly name: string }>(
  available: readonly T[],
  { others = {}, ...selection }: AgentToolSelection = {},
): AgentTools<T> {
  const owner = selectTools(available, selection);
  const { tools } = selectTools(owner.tools, { ...others, include: others.include ?? TOOLS_OF_OTHERS });
  return { owner, others: { tools, unknown: selectTools(owner.tools, others).unknown } };
}
