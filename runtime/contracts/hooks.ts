import type { Message, ToolCall } from "./message.ts";
import type { ChatOptions, ChatReply } from "./provider.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

/**
 * The hook pipeline: composable async hooks, ordered by priority 0 to 99 (low first), run before or after a stage.
 * A hook gets the event's context and may return a changed one. `before` hooks refuse by throwing a CairnError;
 * an `after` hook that throws is logged and skipped, it cannot undo what has happened.
 */

export interface TurnInfo {
  readonly turnId: string;
  readonly agent: string;
  readonly sessionKey: string;
  readonly conversationId: string;
  readonly channel: string;
  readonly user: string;
  readonly owner: boolean;
  readonly workspace: string;
}

/** One entry per event: what its hooks receive. */
export interface HookContexts {
  "provider:before": TurnInfo & {
    readonly provider: string;
    readonly messages: readonly Message[];
    readonly options: ChatOptions;
  };
  "provider:after": TurnInfo & { readonly provider: string; readonly reply: ChatReply };
  "provider:error": TurnInfo & { readonly provider: string; readonly error: unknown };
  "tool:before": ToolContext & { readonly call: ToolCall };
  "tool:after": ToolContext & { readonly call: ToolCall; readonly result: ToolResult; readonly durationMs: number };
  "turn:before": TurnInfo & { readonly text: string };
  "turn:after": TurnInfo & { readonly text: string; readonly reply: string; readonly interrupted: boolean };
  "turn:reflect": TurnInfo & { readonly messages: readonly Message[]; readonly reply: string };
  "skill:before": TurnInfo & { readonly skill: string };
  "skill:after": TurnInfo & { readonly skill: string };
  "session:start": { readonly agent: string; readonly sessionKey: string; readonly conversationId: string };
  "session:end": { readonly agent: string; readonly sessionKey: string; readonly conversationId: string };
  "compact:before": TurnInfo & {
    readonly messages: readonly Message[];
    readonly tokens: number;
    readonly limit: number;
  };
  "compact:after": TurnInfo & { readonly dropped: number; readonly tokens: number };
  "delegation:before": TurnInfo & { readonly target: string; readonly task: string };
  "delegation:after": TurnInfo & { readonly target: string; readonly task: string; readonly result: string };
}

export type HookEvent = keyof HookContexts;

export const HOOK_EVENTS: Readonly<Record<HookEvent, string>> = {
  "provider:before": "Before a provider is called; messages and options may be changed.",
  "provider:after": "After a complete reply of a provider.",
  "provider:error": "After a failed call of a provider, before fallback or retry.",
  "tool:before": "Before a tool runs; the arguments may be changed, or the call refused.",
  "tool:after": "After a tool has run; the result that the model sees may be changed.",
  "turn:before": "Before the prompt of a turn is built; the text that the model sees may be changed.",
  "turn:after": "After the reply is known, before it is stored; the reply may be changed.",
  "turn:reflect": "After a turn is stored and answered, off its path.",
  "skill:before": "Before a skill is loaded into the prompt.",
  "skill:after": "After a skill has been used.",
  "session:start": "When a session opens a conversation.",
  "session:end": "When a session's conversation is closed by /new.",
  "compact:before": "Before older messages are left out of the prompt.",
  "compact:after": "After older messages were left out of the prompt.",
  "delegation:before": "Before a task is handed to another agent.",
  "delegation:after": "After another agent has answered a task.",
};

export interface Hook<E extends HookEvent = HookEvent> {
  readonly name: string;
  readonly event: E;
  /** 0 to 99; lower runs first. */
  readonly priority: number;
  run(context: HookContexts[E], signal?: AbortSignal): Promise<HookContexts[E] | void>;
}

/** A hook of any one event; keeps event and context together where hooks of several events stand in one list. */
export type AnyHook = { [E in HookEvent]: Hook<E> }[HookEvent];
