/** What users who are not the owner may take of a node's queue. */

import { RuntimeError } from "../../contracts/errors.ts";
import type { TurnLimits } from "./agents.ts";

export type QueueLimits = Pick<TurnLimits, "maxOpenOfOthers" | "maxOpenOfOneUser" | "maxTextOfOthers">;

/** Who has a share of their own, as SQL: a token with all users that it names, since it may name as many as it likes, or a user. */
export function holderOf(user: string): string {
  return `case when ${user} like 'token:%' then split_part(${user}, '/', 1) else ${user} end`;
}

export function assertLength(text: string, owner: boolean, { maxTextOfOthers }: QueueLimits): void {
  if (owner || text.length <= maxTextOfOthers) return;
  throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", "The text is too long.", {
    hint: `At most ${maxTextOfOthers} UTF-16 code units in one text; send it in parts, or as an attachment.`,
  });
}

export function tooManyWait(whose: "holder" | "all", { maxOpenOfOthers, maxOpenOfOneUser }: QueueLimits): RuntimeError {
  const [message, hint] =
    whose === "holder"
      ? [`${maxOpenOfOneUser} of your messages wait for their answers already.`, "Wait for some of their turns to end"]
      : [`${maxOpenOfOthers} messages wait for their answers already.`, "The node is busy"];
  return new RuntimeError("RUNTIME_RATE_LIMITED", message, { retryAfterS: 10, hint: `${hint}, then send it again.` });
}
