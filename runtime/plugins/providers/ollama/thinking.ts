import type { ChatRequest } from "ollama/browser";
import type { ThinkingLevel } from "../../../contracts/provider.ts";

/** Thinking levels as `think`; docs/providers.md has the table. A model that refuses it gets none (quirks.ts). */

export interface ThinkingPlan {
  /** Undefined: nothing is sent and the model's own default holds. */
  readonly think: ChatRequest["think"];
  /** Room for thinking, in tokens, in addition to the answer's: the server counts both against one limit. */
  readonly room: number;
}

const ROOM: Readonly<Record<ThinkingLevel, number>> = { off: 0, low: 4_096, medium: 16_384, high: 32_768 };

export function planThinking(level: ThinkingLevel | undefined, model: string): ThinkingPlan {
  if (level === undefined) return { think: undefined, room: 0 };
  // Of these alone the depth can be chosen, and they always think.
  if (/gpt-oss/i.test(model)) {
    const depth = level === "off" ? "low" : level;
    return { think: depth, room: ROOM[depth] };
  }
  return { think: level !== "off", room: ROOM[level] };
}
