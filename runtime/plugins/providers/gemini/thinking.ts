import type { ThinkingConfig, ThinkingLevel as WireLevel } from "@google/genai/web";
import type { ThinkingLevel } from "../../../contracts/provider.ts";

/**
 * Thinking levels as the parameters that each generation of models takes; docs/providers.md has the table. A model that
 * refuses them gets none (quirks.ts).
 */

export interface ThinkingPlan {
  readonly config: ThinkingConfig | undefined;
  /** Room for thinking, in tokens, in addition to the answer's: the API counts both against one limit. */
  readonly room: number;
}

type Depth = Exclude<ThinkingLevel, "off">;

const BUDGET: Readonly<Record<Depth, number>> = { low: 2_048, medium: 8_192, high: 24_576 };
/** Pro models of the 2.5 generation always think. */
const SMALLEST_PRO_BUDGET = 128;

export function planThinking(level: ThinkingLevel | undefined, model: string): ThinkingPlan {
  const line = lineOf(model);
  if (line === "none") return { config: undefined, room: 0 };
  if (level === undefined) return { config: undefined, room: BUDGET.medium };
  const isPro = /\bpro\b/i.test(model);
  if (line === "budget") {
    if (level !== "off") {
      return { config: { thinkingBudget: BUDGET[level], includeThoughts: true }, room: BUDGET[level] };
    }
    const thinkingBudget = isPro ? SMALLEST_PRO_BUDGET : 0;
    return { config: { thinkingBudget }, room: thinkingBudget };
  }
  if (level === "off") return { config: { thinkingLevel: wire(isPro ? "LOW" : "MINIMAL") }, room: BUDGET.low };
  const named = level === "medium" && /gemini-3-pro/i.test(model) ? "high" : level;
  return { config: { thinkingLevel: wire(WIRE[named]), includeThoughts: true }, room: BUDGET[named] };
}

/** Whether the service insists on the signatures of a turn's calls. */
export function needsSignatures(model: string): boolean {
  return lineOf(model) === "level";
}

const WIRE = { low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

/** The SDK's enum has these values; the SDK itself is loaded later. */
function wire(level: `${WireLevel}`): WireLevel {
  return level as WireLevel;
}

/** How a model takes its level of thinking; the names without a version are aliases of the newest. */
function lineOf(model: string): "none" | "budget" | "level" {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  if (!name.startsWith("gemini-")) return "none";
  const version = /^gemini-(\d+)(?:\.(\d+))?/.exec(name);
  if (version === null) return "level";
  const major = Number(version[1]);
  if (major >= 3) return "level";
  return major === 2 && Number(version[2] ?? 0) >= 5 ? "budget" : "none";
}
