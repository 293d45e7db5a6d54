/** What the definitions of tools take of a model's window. Each is counted once, however many turns offer it. */

import type { ToolDefinition } from "../../contracts/provider.ts";
import { weighing } from "../../domain/history.ts";
import type { CountTokens } from "../../domain/tokens.ts";

export interface Weight {
  /** An upper bound of the tokens. */
  readonly bytes: number;
  tokens(): number;
}

export type WeighTools = (tools: Iterable<ToolDefinition>) => Weight;

/** Tokens that the APIs put around a definition, in addition to its name, description and parameters. */
const AROUND = 8;

export function createToolWeights(countTokens: CountTokens): WeighTools {
  const weigh = weighing(countTokens);
  const bytesOf = eachOnce((text) => Buffer.byteLength(text));
  const tokensOf = eachOnce(weigh);
  return (tools) => {
    const all = [...tools];
    return { bytes: sum(all, bytesOf), tokens: () => sum(all, tokensOf) };
  };
}

/** Definitions are the same objects from turn to turn, until their tool changes. */
function eachOnce(weigh: (text: string) => number): (tool: ToolDefinition) => number {
  const weights = new WeakMap<ToolDefinition, number>();
  return (tool) => {
    const before = weights.get(tool);
    if (before !== undefined) return before;
    const { name, description, parameters } = tool;
    const weight = weigh(JSON.stringify({ name, description, parameters })) + AROUND;
    weights.set(tool, weight);
    return weight;
  };
}

function sum(tools: readonly ToolDefinition[], weigh: (tool: ToolDefinition) => number): number {
  return tools.reduce((total, tool) => total + weigh(tool), 0);
}
