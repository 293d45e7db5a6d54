/** Limits of messages and texts of users who are not the owner: sizes, how many may wait, and what the refusals say. */

import type { InboundMessage } from "../../contracts/channel.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { TurnLimits } from "./agents.ts";

export type QueueLimits = Pick<
  TurnLimits,
  | "maxOpenOfOthers"
  | "maxOpenOfOneUser"
  | "maxTextOfOthers"
  | "maxTextsOfOthers"
  | "maxAttachedOfOthers"
  | "maxSteersOfOthers"
>;

/** Who has a share of their own (domain/holder.ts), as SQL. */
export function holderOf(user: string): string {
  return `case when ${user} like 'token:%' then split_part(${user}, '/', 1) else ${user} end`;
}

export function assertLength(text: string, owner: boolean, { maxTextOfOthers }: QueueLimits): void {
  if (owner || text.length <= maxTextOfOthers) return;
  throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The text is too long.", {
    hint: `At most ${maxTextOfOthers} UTF-16 code units in one text; send it in parts, or as an attachment.`,
  });
}

/** A message is in memory as long as its turn runs: each text of it, all together, and what is attached. */
export function assertSize({ text, history = [], attachments = [], owner }: InboundMessage, limits: QueueLimits): void {
  const texts = [text, ...history.map(({ content }) => content)];
  for (const one of texts) assertLength(one, owner, limits);
  if (owner) return;
  if (sumOf(texts, ({ length }) => length) > limits.maxTextsOfOthers) {
    throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The texts of the message are too long together.", {
      hint: `At most ${limits.maxTextsOfOthers} UTF-16 code units in all, earlier messages included. A session keeps its history here.`,
    });
  }
  if (sumOf(attachments, ({ data }) => Buffer.byteLength(data, "base64")) > limits.maxAttachedOfOthers) {
    throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The attachments are too large.", {
      hint: `At most ${limits.maxAttachedOfOthers} bytes in one message; send them in several.`,
    });
  }
}

function sumOf<Item>(items: readonly Item[], size: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + size(item), 0);
}

/** Whose limit is reached: that of the user, or of the token that names users, or that of all users together. */
export type Refused = "holder" | "all";

export function tooManyWait(whose: Refused, { maxOpenOfOthers, maxOpenOfOneUser }: QueueLimits): RuntimeError {
  const [message, hint] =
    whose === "holder"
      ? [`${maxOpenOfOneUser} of your messages wait for their answers already.`, "Wait for some of their turns to end"]
      : [`${maxOpenOfOthers} messages wait for their answers already.`, "The node is busy"];
  return new RuntimeError("RUNTIME_RATE_LIMITED", message, { retryAfterS: 10, hint: `${hint}, then send it again.` });
}

export function tooManySteers({ maxSteersOfOthers }: QueueLimits): RuntimeError {
  return new RuntimeError("RUNTIME_RATE_LIMITED", `${maxSteersOfOthers} texts were added to this turn already.`, {
    retryAfterS: 10,
    hint: "Wait for its end, then send a message.",
  });
}
