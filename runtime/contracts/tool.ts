import type { ToolDefinition } from "./provider.ts";

/** Something an agent can do. Arguments are validated against `parameters` before `execute` is called. */

export interface Question {
  /** What the user reads; 1 to 10,000 UTF-16 units. */
  readonly text: string;
  /** What a channel may offer to choose from, at most 20. The answer is free text all the same: the tool decides what it takes. */
  readonly choices?: readonly string[];
  /** Milliseconds, at most 30 days, until the wait for an answer ends. Default one day. */
  readonly deadlineMs?: number;
}

export type Answer = { readonly kind: "answered"; readonly text: string } | { readonly kind: "expired" };

/** A task for a turn in a session of its own. */
export interface TurnTask {
  /** What that turn's agent reads; 1 to 100,000 UTF-16 units. */
  readonly message: string;
  /** Milliseconds, at most one day, until the wait ends and the other turn is stopped. Default 15 minutes. */
  readonly deadlineMs?: number;
  /** Levels below the turn that a user began, at most the three that there are. Default 3. */
  readonly maxDepth?: number;
  /**
   * How many tasks of calls side by side run at once, 1 to 16: further calls hand on theirs when all of those have ended. Default 4.
   */
  readonly atOnce?: number;
}

/** A task for a session of the turn's own agent. */
export interface SpawnedTask extends TurnTask {
  /** Names of the tools that the other turn has, of those that this one has; all of them when absent. */
  readonly tools?: readonly string[];
  /** Tokens, in and out, that it may use with all that it hands on; at most what this turn has left of its own. */
  readonly maxTokens?: number;
}

export interface DelegatedTask extends TurnTask {
  /** Another agent: one of this deployment, or else of a member of the mesh, whose node then runs the other turn. */
  readonly agent: string;
}

/** The other turn's reply. */
export interface TaskReply {
  readonly turnId: string;
  readonly text: string;
}

/** A file for the turn's user. */
export interface OutgoingFile {
  /** As the user sees it: 1 to 255 UTF-16 units, and no path. */
  readonly name: string;
  /** For example `application/pdf`. */
  readonly mediaType: string;
  /** 1 byte to 25 MiB, for others than the owner 4 MiB; less where the channel takes less. */
  readonly data: Buffer;
  /** Text that goes with it. */
  readonly caption?: string;
}

/** Ports of a call to the turn that it belongs to. */
export interface ToolPorts {
  /**
   * Asks the turn's user. The turn then waits without a process, over restarts: the promise rejects, the call must let that pass and
   * end, and when there is an answer or the deadline has passed it is executed again from its beginning, where this resolves at once. So
   * a call does nothing before it asks that should not happen twice. TOOL_INVALID_ARGUMENTS for a question beyond the bounds.
   */
  ask(question: Question): Promise<Answer>;
  /**
   * Hands a task to another agent and resolves with its reply. The turn waits for it as for an answer (see `ask`): the promise rejects
   * first, and the call is executed again. Stopping this turn stops the other one. The other turn is the same user's, and can
   * neither ask nor deliver; on another member's node it is a user of this one. TOOL_INVALID_ARGUMENTS; DELEGATION_NO_TARGET,
   * DELEGATION_TOO_DEEP (more than three levels), DELEGATION_CYCLE (an agent that waits for this turn), DELEGATION_TIMEOUT,
   * DELEGATION_FAILED.
   */
  delegate(task: DelegatedTask): Promise<TaskReply>;
  /**
   * The same to a session of this agent itself, which is no cycle. TOOL_INVALID_ARGUMENTS for tools that this turn has not;
   * DELEGATION_BUDGET_EXCEEDED where it has no tokens left to give.
   */
  spawn(task: SpawnedTask): Promise<TaskReply>;
  /**
   * Does this work once, however often the call is executed again after `ask` and the others: what it returned is stored, at most a
   * million UTF-16 units, and returned then. A process that dies meanwhile leaves a call of unknown outcome.
   */
  once(work: () => Promise<string>): Promise<string>;
  /** Reports the call's progress in the turn's stream. Not stored: a later reader does not get it. */
  progress(text: string): void;
  /**
   * Sends a message to the turn's conversation at once, besides the reply. Durable when it resolves, sent at least once; after
   * `ask` the same message of the same call is not sent again. TOOL_INVALID_ARGUMENTS for a blank one.
   */
  deliver(text: string): Promise<void>;
  /**
   * Sends a file to the turn's conversation with the result of the call: recorded together with it, so that it is sent if the call
   * ends without an error, and only then; at least once, and before what the agent writes next. TOOL_REFUSED where nobody receives it,
   * and beyond 20 of a turn; TOOL_INVALID_ARGUMENTS for one that is empty or too large.
   */
  sendFile(file: OutgoingFile): Promise<void>;
}

/** What `ask` and the others reject with while there is no answer; never part of a result. */
export class AnswerPending extends Error {}

export interface ToolContext extends ToolPorts {
  readonly agent: string;
  readonly sessionKey: string;
  readonly conversationId: string;
  readonly turnId: string;
  readonly toolCallId: string;
  /** Names of the turn's tools. */
  readonly tools: readonly string[];
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
  /** Of these, the ones that name a file which a call that succeeds has written. */
  readonly changedArguments?: readonly string[];
  /** The signal carries `/stop`, the turn's deadline and shutdown. A thrown ToolError reaches the model as an error result. */
  execute(args: Readonly<Record<string, unknown>>, signal?: AbortSignal, context?: ToolContext): Promise<ToolResult>;
}
