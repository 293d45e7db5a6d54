import type { ThinkingLevel } from "../../../contracts/provider.ts";
import { type Effort, type Reasoning, ROOM } from "../openai-compatible/thinking.ts";

/** Thinking levels as Grok takes them; docs/providers.md has the table. A model that refuses them gets none (quirks.ts). */

export const XAI_REASONING: Reasoning = {
  reasoningEffort,
  // Grok takes a temperature whether it reasons or not.
  takesTemperature: () => true,
  reasoningRoom,
};

function reasoningEffort(level: ThinkingLevel | undefined, model: string): Effort | undefined {
  if (level === undefined) return undefined;
  switch (lineOf(model)) {
    case "levels":
      return level === "off" ? "none" : level;
    case "mini":
      return level === "high" || level === "medium" ? "high" : "low";
    case "fixed":
      return undefined;
  }
}

/** Tokens in addition to the answer's. A model that cannot be told how much to reason does so all the same. */
function reasoningRoom(model: string, effort: Effort | undefined): number {
  if (/non-reasoning|grok-[12]\b|grok-3(?!-mini)/i.test(model)) return 0;
  return ROOM[effort ?? "medium"];
}

type ModelLine =
  /** `none` to `high`. */
  | "levels"
  /** `low` and `high`; never off. */
  | "mini"
  /** Reasons as it is made to, or not at all, and refuses the parameter. */
  | "fixed";

function lineOf(model: string): ModelLine {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  if (name.startsWith("grok-3-mini")) return "mini";
  const version = /^grok-(\d+)(?:[.-](\d{1,2})(?!\d))?/.exec(name);
  // An alias such as grok-latest is of the newest.
  if (version === null) return name.startsWith("grok-latest") ? "levels" : "fixed";
  if (/reasoning|multi-agent/.test(name)) return "fixed";
  const major = Number(version[1]);
  const minor = Number(version[2] ?? 0);
  // 4.1 and 4.20 came before 4.3.
  const order = minor >= 10 ? minor / 10 : minor;
  return major > 4 || (major === 4 && order >= 3) ? "levels" : "fixed";
}
