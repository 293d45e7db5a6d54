import type { Message, ToolCall } from "./message.ts";
import type { ChatOptions, ChatReply } from "./provider.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

/**
 * The hook pipeline: composable async hooks, ordered by priority 0 to 99 (low first), run before or after a stage
 * (specification, "Hooks"). A hook gets the event's context and may return a changed one. Every hook has a policy, which says what its
 * failure means for the stage, and a deadline.
 */

export interface SessionInfo {
  readonly agent: string;
  readonly sessionKey: string;
  readonly conversationId: string;
  readonly channel: string;
  readonly user: string;
  readonly owner: boolean;
  readonly workspace: string;
}

export interface TurnInfo extends SessionInfo {
  readonly turnId: string;
}

/** `new`: by /new. `task`: the turn of a task of another agent has ended, and with it the session that was opened for it. */
export type SessionEnd = "new" | "task";

export type ApprovalOutcome = "approved" | "denied" | "expired";

/** One entry per event: what its hooks receive. */
export interface HookContexts {
  "provider:before": TurnInfo & {
    readonly provider: string;
    readonly messages: readonly Message[];
    readonly options: ChatOptions;
  };
  "provider:after": TurnInfo & { readonly provider: string; readonly reply: ChatReply };
  "provider:error": TurnInfo & { readonly provider: string; readonly error: unknown };
  /** May ask; the call and its hooks are then executed again with the answer. */
  "tool:before": ToolContext & {
    readonly call: ToolCall;
    /** Names of the arguments that are paths, as the tool that will run says. */
    readonly pathArguments: readonly string[];
    /**
     * Asks the owner whether `call` may run: `reason` says what was matched, and why that is asked about. Waits as `ask` does. The
     * outcome holds for this very call: one that differs is asked about again. TOOL_REFUSED where the owner is not there to be asked.
     */
    approve(call: ToolCall, reason: string): Promise<ApprovalOutcome>;
  };
  /** May not ask any more: TOOL_REFUSED. */
  "tool:after": ToolContext & {
    readonly call: ToolCall;
    readonly result: ToolResult;
    readonly durationMs: number;
    /**
     * Paths, as they were given, of the files that this call and earlier ones have written, each file once. Empty while calls of the
     * same reply are still to run that may write more.
     */
    readonly changedFiles: readonly string[];
  };
  "turn:before": TurnInfo & { readonly text: string };
  "turn:after": TurnInfo & { readonly text: string; readonly reply: string; readonly interrupted: boolean };
  "turn:reflect": TurnInfo & { readonly messages: readonly Message[]; readonly reply: string };
  "skill:before": TurnInfo & { readonly skill: string };
  "skill:after": TurnInfo & { readonly skill: string };
  "session:start": SessionInfo;
  "session:end": SessionInfo & { readonly reason: SessionEnd };
  "compact:before": TurnInfo & {
    readonly messages: readonly Message[];
    /** Of the messages, about. */
    readonly tokens: number;
    readonly limit: number;
  };
  "compact:after": TurnInfo & {
    /** Messages that are not in the prompt any more. */
    readonly dropped: number;
    /** Of what is left, with the summary. */
    readonly tokens: number;
    /** What stands in the place of all that was left out so far; null: nothing does. */
    readonly summary: string | null;
  };
  "delegation:before": TurnInfo & { readonly target: string; readonly task: string };
  "delegation:after": TurnInfo & {
    readonly target: string;
    /** As it was handed over. */
    readonly task: string;
    /** False: the other turn failed, was stopped, or its time is over. */
    readonly ok: boolean;
    /** The reply; where `ok` is false what the model reads of the failure. */
    readonly result: string;
  };
}

export type HookEvent = keyof HookContexts;

/**
 * What becomes of the stage when a hook throws, misses its deadline, goes on two seconds after its signal, or gives back a part
 * of its context. `closed`: the stage does not happen, and the error is what it ends with; a hook that must be able to refuse
 * is closed. `open`: the failure is logged, and the stage continues as if the hook were not there.
 */
export type HookPolicy = "closed" | "open";

export interface HookEventTraits {
  readonly description: string;
  /** Of hooks that name none. */
  readonly policy: HookPolicy;
  /** What the failure of a closed hook ends; null where it is too late, and no hook may be closed. */
  readonly stops: string | null;
}

export const HOOK_EVENTS: Readonly<Record<HookEvent, HookEventTraits>> = {
  "provider:before": {
    description: "Before a provider is called; messages and options may be changed.",
    policy: "closed",
    stops: "The turn fails; no provider is asked.",
  },
  "provider:after": {
    description: "After a complete reply of a provider; the reply may be changed.",
    policy: "open",
    stops: "The reply counts as a failed call of the provider.",
  },
  "provider:error": {
    description: "After a failed call of a provider, before fallback or retry.",
    policy: "open",
    stops: null,
  },
  "tool:before": {
    description: "Before a tool runs; the arguments may be changed, or the call refused.",
    policy: "closed",
    stops: "The call does not happen; the model reads the error as its result.",
  },
  "tool:after": {
    description: "After a tool has run; the result that the model sees may be changed.",
    policy: "open",
    stops: "The model reads the error in place of the result; what the call did stays done.",
  },
  "turn:before": {
    description: "Before the prompt of a turn is built; the text that the model sees may be changed.",
    policy: "closed",
    stops: "The turn fails.",
  },
  "turn:after": {
    description: "After the reply is known, before it is stored; the reply may be changed.",
    policy: "open",
    stops: "The turn fails; what was streamed cannot be taken back.",
  },
  "turn:reflect": { description: "After a turn is stored and answered, off its path.", policy: "open", stops: null },
  "skill:before": {
    description: "Before a skill's text, or one of its files, is given to the model; it may be refused.",
    policy: "closed",
    stops: "The skill is not loaded; the model reads that it may not be used.",
  },
  "skill:after": {
    description: "After a skill's text or file has been read for the model.",
    policy: "open",
    stops: null,
  },
  "session:start": {
    description: "When a session opens a conversation: by a message, a schedule, a task of another agent or a command.",
    policy: "open",
    stops: null,
  },
  "session:end": {
    description: "When a session's conversation is closed: by /new, or by the end of the task that it was opened for.",
    policy: "open",
    stops: null,
  },
  "compact:before": {
    description: "Before older messages are summarized, or left out of the prompt where no model can do so.",
    policy: "open",
    stops: "The turn fails; nothing is left out.",
  },
  "compact:after": {
    description: "After a summary has taken the place of older messages, or they were left out of the prompt.",
    policy: "open",
    stops: null,
  },
  "delegation:before": {
    description: "Before a task is handed to another agent; the task may be changed, or refused.",
    policy: "closed",
    stops: "The task is not handed over; the model reads the error as the result of its call.",
  },
  "delegation:after": {
    description:
      "After a task of another agent has ended, for the turn that goes on; what its model reads may be changed.",
    policy: "open",
    stops: null,
  },
};

/** Of hooks that name none. */
export const HOOK_DEADLINE_MS = 10_000;

export interface Hook<E extends HookEvent = HookEvent> {
  readonly name: string;
  readonly event: E;
  /** 0 to 99; lower runs first. */
  readonly priority: number;
  /** Default: that of its event in HOOK_EVENTS. */
  readonly policy?: HookPolicy;
  /** Milliseconds after which it counts as failed; its signal aborts then. Default HOOK_DEADLINE_MS. */
  readonly deadlineMs?: number;
  run(context: HookContexts[E], signal?: AbortSignal): Promise<HookContexts[E] | void>;
}

/** A hook of any one event; keeps event and context together where hooks of several events are in one list. */
export type AnyHook = { [E in HookEvent]: Hook<E> }[HookEvent];
