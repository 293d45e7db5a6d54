/** What the turn code knows of an agent; the composition root makes it of the configuration. */

import type { ThinkingLevel } from "../../contracts/provider.ts";
import type { Tool } from "../../contracts/tool.ts";

export interface Agent {
  readonly name: string;
  readonly provider: string;
  /** Absent: the provider's default. */
  readonly model?: string;
  readonly fallbacks: readonly string[];
  readonly thinking: ThinkingLevel;
  /** Absolute path. */
  readonly workspace: string;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Tokens that the model's window holds. */
  readonly contextWindow: number;
  /** Tokens of the window that are kept free for the reply; thinking has its own room on top. */
  readonly replyTokens: number;
  readonly temperature?: number;
  /** The one node that hosts it; absent: whichever holds the agent's lease. */
  readonly node?: string;
}

export interface TurnLimits {
  readonly maxToolIterations: number;
  readonly turnTimeoutMs: number;
  /** A turn whose runner says nothing for this long is taken over. */
  readonly leaseMs: number;
  /** Tokens of injected memory a turn. */
  readonly contextTokens: number;
  /** IANA name. */
  readonly timezone: string;
  /** Turns that run at once on this node. */
  readonly maxActiveTurns: number;
}
