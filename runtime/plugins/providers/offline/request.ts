import type { Visibility } from "../../../contracts/memory.ts";
import { type Message, textOf } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { isOfflineAnswer } from "../../../domain/offline-answer.ts";

/** From a request to a search and its visibility: a pure mapping. */

export interface Lookup {
  /** The newest user message. */
  readonly question: string;
  /** Undefined when the user is unknown: then there is nothing that may be shown. */
  readonly visibility: Visibility | undefined;
  /** Whether an answer of ours is in the conversation already. */
  readonly explained: boolean;
}

export function toLookup(messages: readonly Message[], options: ChatOptions): Lookup {
  const newest = messages.findLast((message) => message.role === "user" && message.aside !== true);
  return {
    question: newest === undefined ? "" : textOf(newest.content).trim(),
    visibility: visibilityOf(options.caller),
    explained: messages.some(({ role, content }) => isOfflineAnswer({ role, content: textOf(content) })),
  };
}

function visibilityOf(caller: ChatOptions["caller"]): Visibility | undefined {
  if (caller === undefined) return undefined;
  return caller.owner ? { all: true } : { channel: caller.channel, user: caller.user };
}
