import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { ThinkingLevel } from "../../../contracts/provider.ts";
import { type Generation, generationOf } from "./models.ts";

/**
 * Thinking levels as the parameters that each generation of models takes; docs/providers.md has the table. A model that
 * refuses them all the same gets none (quirks.ts).
 */

export interface ThinkingPlan {
  readonly params: Pick<MessageCreateParamsStreaming, "thinking" | "output_config">;
  /** Room for answer and thinking together. */
  readonly maxTokens: number;
  /** Whether the model takes a temperature together with these parameters. */
  readonly takesTemperature: boolean;
}

type Depth = Exclude<ThinkingLevel, "off">;

const BUDGET: Readonly<Record<Depth, number>> = { low: 2_048, medium: 8_192, high: 24_576 };
/** The API's smallest thinking budget. */
const SMALLEST_BUDGET = 1_024;

/**
 * @param answer room for the answer in tokens, undefined for the model's usual
 * @param mayThink false when the conversation is in a tool loop whose thinking is lost: older models refuse to go on
 *   thinking without it
 */
export function planThinking(
  level: ThinkingLevel | undefined,
  model: string,
  answer: number | undefined,
  mayThink = true,
): ThinkingPlan {
  const generation = generationOf(model);
  const room = Math.min(answer ?? generation.answer, generation.most);
  const plan = (params: ThinkingPlan["params"], extra: number, takesTemperature: boolean): ThinkingPlan => ({
    params,
    maxTokens: Math.min(room + extra, generation.most),
    takesTemperature: takesTemperature && generation.samples,
  });

  if (generation.kind === "none" || level === undefined) return plan({}, extraByDefault(generation), true);
  if (level === "off") return planOff(generation, plan);
  if (generation.kind === "adaptive") {
    // Newer models return empty thinking text unless it is requested.
    const thinking = generation.samples
      ? { type: "adaptive" as const }
      : { type: "adaptive" as const, display: "summarized" as const };
    return plan({ thinking, output_config: { effort: level } }, BUDGET[level], false);
  }
  const maxTokens = Math.min(room + BUDGET[level], generation.most);
  const budget = Math.min(BUDGET[level], maxTokens - SMALLEST_BUDGET);
  if (!mayThink || budget < SMALLEST_BUDGET) return plan({}, 0, true);
  return plan({ thinking: { type: "enabled", budget_tokens: budget } }, BUDGET[level], false);
}

function planOff(
  generation: Generation,
  plan: (params: ThinkingPlan["params"], extra: number, takesTemperature: boolean) => ThinkingPlan,
): ThinkingPlan {
  switch (generation.off) {
    case "silence":
      return plan({}, 0, true);
    case "disabled":
      return plan({ thinking: { type: "disabled" } }, 0, true);
    case "between_tools":
      return plan({ thinking: { type: "between_tools" } }, 0, true);
    case "never":
      return plan({ output_config: { effort: "low" } }, BUDGET.low, false);
  }
}

/** Models that think by default need the room for it. */
function extraByDefault(generation: Generation): number {
  return generation.kind === "adaptive" && generation.off !== "silence" ? BUDGET.medium : 0;
}
