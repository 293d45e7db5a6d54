import type { Visibility } from "../../../contracts/memory.ts";
import { type Message, textOf } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { NO_MODEL } from "./answer.ts";

/** What to look for, and whose memory to look in: a pure mapping. */

export interface Lookup {
  /** The newest user message. */
  readonly question: string;
  /** Undefined when nobody is known to ask: then there is nothing that may be shown. */
  readonly visibility: Visibility | undefined;
  /** Whether an answer of ours stands in the conversation already. */
  readonly explained: boolean;
}

export function toLookup(messages: readonly Message[], options: ChatOptions): Lookup {
  const newest = messages.findLast((message) => message.role === "user" && message.aside !== true);
  return {
    question: newest === undefined ? "" : textOf(newest.content).trim(),
    visibility: visibilityOf(options.caller),
    explained: messages.some(({ role, content }) => role === "assistant" && textOf(content).includes(NO_MODEL)),
  };
}

function visibilityOf(caller: ChatOptions["caller"]): Visibility | undefined {
  if (caller === undefined) return undefined;
  return caller.owner ? { all: true } : { channel: caller.channel, user: caller.user };
}
