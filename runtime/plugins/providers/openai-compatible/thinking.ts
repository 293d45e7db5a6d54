import type { ThinkingLevel } from "../../../contracts/provider.ts";

/** Thinking levels as `reasoning_effort`; docs/providers.md has the table. A server that refuses it gets none (quirks.ts). */

export type Effort = "none" | "minimal" | "low" | "medium" | "high";

/** How a service takes thinking levels. */
export interface Reasoning {
  readonly reasoningEffort: (level: ThinkingLevel | undefined, model: string) => Effort | undefined;
  readonly takesTemperature: (model: string, effort: Effort | undefined) => boolean;
  readonly reasoningRoom: (model: string, effort: Effort | undefined) => number;
}

/** Undefined: nothing is sent and the server's own default holds. */
export function reasoningEffort(level: ThinkingLevel | undefined, model: string): Effort | undefined {
  if (level === undefined) return undefined;
  const line = lineOf(model);
  if (line === "plain") return undefined;
  if (level !== "off") return level;
  switch (line) {
    case "o-series":
      return "low";
    case "gpt-5":
      return "minimal";
    case "gpt-5.1":
      return "none";
    case "unknown":
      // "none" is refused by more servers than understand it.
      return undefined;
  }
}

/** OpenAI's reasoning models refuse sampling parameters unless their reasoning is off. */
export function takesTemperature(model: string, effort: Effort | undefined): boolean {
  const line = lineOf(model);
  return line === "plain" || line === "unknown" || (line === "gpt-5.1" && effort === "none");
}

/** Room for reasoning, in tokens, in addition to the answer's: the servers count both against one limit. */
export function reasoningRoom(model: string, effort: Effort | undefined): number {
  const line = lineOf(model);
  if (line === "plain" || effort === "none") return 0;
  // Without a wish of ours OpenAI's models reason with medium effort.
  return ROOM[effort ?? (line === "unknown" ? "none" : "medium")];
}

/** In tokens. */
export const ROOM: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
};

export const USUAL_REASONING: Reasoning = { reasoningEffort, takesTemperature, reasoningRoom };

type ModelLine =
  /** OpenAI models without reasoning. */
  | "plain"
  | "o-series"
  | "gpt-5"
  /** gpt-5.1 and everything after it: reasoning can be switched off. */
  | "gpt-5.1"
  | "unknown";

function lineOf(model: string): ModelLine {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  if (/^o\d/.test(name)) return "o-series";
  const version = /^(?:chat)?gpt-(\d+)(?:\.(\d+))?/.exec(name);
  if (version === null) return "unknown";
  const major = Number(version[1]);
  const minor = Number(version[2] ?? 0);
  if (major < 5) return "plain";
  return major === 5 && minor === 0 ? "gpt-5" : "gpt-5.1";
}
