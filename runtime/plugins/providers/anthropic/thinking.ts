import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { ThinkingLevel } from "../../../contracts/provider.ts";

/**
 * Thinking levels as the parameters that each generation of models takes; docs/providers.md has the table. A model that
 * refuses them all the same gets none (quirks.ts).
 */

export interface ThinkingPlan {
  readonly params: Pick<MessageCreateParamsStreaming, "thinking" | "output_config">;
  /** Room for answer and thinking together. */
  readonly maxTokens: number;
  /** Whether the model takes a temperature beside these parameters. */
  readonly takesTemperature: boolean;
}

interface Generation {
  readonly kind: "none" | "budget" | "adaptive";
  /** How thinking is kept off: by saying nothing, by a parameter, or not at all. */
  readonly off: "silence" | "disabled" | "between_tools" | "never";
  readonly samples: boolean;
  /** Room for the answer when nothing is configured, and the most that a reply may take, both in tokens. */
  readonly answer: number;
  readonly most: number;
}

type Depth = Exclude<ThinkingLevel, "off">;

const BUDGET: Readonly<Record<Depth, number>> = { low: 2_048, medium: 8_192, high: 24_576 };
/** The API's smallest thinking budget. */
const SMALLEST_BUDGET = 1_024;

/**
 * @param answer room for the answer in tokens, undefined for the model's usual
 * @param mayThink false when the conversation stands in a tool loop whose thinking is lost: older models refuse to go on
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
    // Newer models return empty thinking text unless they are asked for it.
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

/** Models that think unless told otherwise need the room for it. */
function extraByDefault(generation: Generation): number {
  return generation.kind === "adaptive" && generation.off !== "silence" ? BUDGET.medium : 0;
}

/** Generations by version. Names that are no Claude's belong to servers that imitate the API: the older form is safest. */
function generationOf(model: string): Generation {
  const claude = /claude[-.]?(?:([a-z]+)[-.])?(\d+)?(?:[-.](\d{1,2}))?(?!\d)/.exec(model.toLowerCase());
  if (claude === null) return { kind: "budget", off: "silence", samples: true, answer: 8_192, most: 32_000 };
  const family = claude[1] ?? "";
  const alwaysThinks = family === "fable" || family === "mythos";
  // A Claude without a number is a preview: newer than all numbers known here.
  const version = claude[2] === undefined ? Number.POSITIVE_INFINITY : Number(claude[2]) + Number(claude[3] ?? 0) / 100;

  if (version < 3.05) return { kind: "none", off: "silence", samples: true, answer: 4_096, most: 4_096 };
  if (version < 3.07) return { kind: "none", off: "silence", samples: true, answer: 8_192, most: 8_192 };
  if (version < 4.06 && !alwaysThinks) {
    const most = family === "opus" && version < 4.05 ? 32_000 : 64_000;
    return { kind: "budget", off: "silence", samples: true, answer: 16_384, most };
  }
  const adaptive = {
    kind: "adaptive",
    samples: version < 4.07 && !alwaysThinks,
    answer: 16_384,
    most: 64_000,
  } as const;
  if (alwaysThinks) return { ...adaptive, off: "never" };
  if (version < 5) return { ...adaptive, off: "silence" };
  if (version >= 5.05 && family === "opus") return { ...adaptive, off: "never" };
  if (version >= 5.05 && family === "sonnet") return { ...adaptive, off: "between_tools" };
  return { ...adaptive, off: "disabled" };
}
