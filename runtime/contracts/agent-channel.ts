/** The agent channel as its HTTP routes use it: they hand a request over, and it reaches the inbox or the commands. */

import type { AgentCaller } from "./agent-caller.ts";
import type { AcceptedMessage, Attachment, Channel, CommandReply, HistoryMessage } from "./channel.ts";
import type { HandedTask } from "./delegation.ts";

export type { AgentCaller } from "./agent-caller.ts";

export interface AgentPost {
  readonly agent: string;
  /** The client's name of the conversation. */
  readonly session: string;
  readonly text: string;
  /** The user on whose behalf the client sends; absent: the caller. */
  readonly user?: string;
  readonly attachments?: readonly Attachment[];
  readonly history?: readonly HistoryMessage[];
  /** The same key with the same body in the same session is the same message. Absent: a message of its own. */
  readonly idempotencyKey?: string;
  readonly caller: AgentCaller;
  /** Of a peer's message that turns there wait for. */
  readonly task?: HandedTask;
}

export interface AgentCommand {
  readonly agent: string;
  readonly session: string;
  readonly user?: string;
  /** The whole line, with its slash. */
  readonly line: string;
  readonly caller: AgentCaller;
}

export interface AgentChannel extends Channel {
  /** Resolves once the message is durable. RUNTIME_NOT_READY before start, RUNTIME_DRAINING after stop, else as the handler. */
  post(message: AgentPost): Promise<AcceptedMessage>;
  command(command: AgentCommand): Promise<CommandReply>;
  /** Whether a turn of this channel-side user is the caller's to see: the owner's token sees all, others their own. */
  mayFollow(caller: AgentCaller, user: string): boolean;
}
