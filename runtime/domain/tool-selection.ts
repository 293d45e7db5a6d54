/** Which tools an agent gets: exact names, so that a new tool is never let in by a pattern that was written before it. */

export interface ToolSelection {
  /** Only these; everything there is when absent. */
  readonly include?: readonly string[];
  /** Not these; stronger than `include`. */
  readonly exclude?: readonly string[];
}

export interface SelectedTools<T> {
  readonly tools: readonly T[];
  /** Names in the selection that no tool has, in the order in which they were written, each once. */
  readonly unknown: readonly string[];
}

/** Keeps the order of `available`. Unknown names select nothing and are reported, for a warning at start. */
export function selectTools<T extends { readonly name: string }>(
  available: readonly T[],
  selection: ToolSelection = {},
): SelectedTools<T> {
  const names = new Set(available.map((tool) => tool.name));
  const { include, exclude = [] } = selection;
  const unknown = [...new Set([...(include ?? []), ...exclude])].filter((name) => !names.has(name));
  const tools = available.filter(
    (tool) => (include === undefined || include.includes(tool.name)) && !exclude.includes(tool.name),
  );
  return { tools, unknown };
}
