import type { ToolDefinition } from "./provider.ts";

/** Something an agent can do. Arguments are validated against `parameters` before `execute` is called. */

export interface ToolContext {
  readonly agent: string;
  readonly sessionKey: string;
  readonly conversationId: string;
  readonly turnId: string;
  readonly toolCallId: string;
  /** Absolute path of the turn's workspace: the agent's own in the owner's turns, else that of the turn's user. */
  readonly workspace: string;
  readonly channel: string;
  /** Channel-side user of the turn; with channel and `owner` it decides whose memory the memory tools see. */
  readonly user: string;
  readonly owner: boolean;
}

export interface ToolResult {
  /** What the model reads. */
  readonly content: string;
  readonly isError?: boolean;
}

export interface Tool extends ToolDefinition {
  /** True when calls of this tool may run beside other calls of the same reply (it changes nothing). Default false. */
  readonly parallel?: boolean;
  /** Names of the arguments that are paths: the workspace fence checks them before the call. */
  readonly pathArguments?: readonly string[];
  /** The signal carries `/stop`, the turn's deadline and shutdown. A thrown ToolError reaches the model as an error result. */
  execute(args: Readonly<Record<string, unknown>>, signal?: AbortSignal, context?: ToolContext): Promise<ToolResult>;
}
