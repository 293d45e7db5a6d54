/** Buttons that the owner and people who are admitted press: they become command lines. Strangers get nothing. */

import type { CommandReply } from "../../../contracts/channel.ts";
import { toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type ChatMessages, wordsOf } from "../chat-messages.ts";
import { type PressedChoice, pressedChoice } from "../choices.ts";
import { withRetries } from "../retries.ts";
import { conversationOf, isId, isTime, slackAddress } from "./address.ts";
import type { SlackApi } from "./api.ts";
import { connectionError, sendingError } from "./errors.ts";
import { pieces } from "./messages.ts";
import { asTyped, escaped } from "./text.ts";

export interface InteractionsDeps {
  readonly api: SlackApi;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  readonly inbound: Pick<ChatMessages, "isAdmitted" | "command">;
  /** Aborts when the channel stops. */
  readonly signal: AbortSignal;
}

interface Pressed {
  readonly user: string;
  readonly conversation: string;
  readonly message: string;
  readonly answer: PressedChoice;
}

/** That are answered, or wait until Slack can be reached, of the owner and of all others; more are dropped. */
const MOST = 100;
/** Milliseconds: Slack itself takes answers to an interaction for half an hour. */
const LASTS_MS = 30 * 60_000;

/** Takes the payload of an envelope `interactive`; answers it behind the receiving. */
export function createInteractions(deps: InteractionsDeps): (payload: unknown) => void {
  const { api, ownerId, logger, inbound, signal } = deps;
  const running = { owner: 0, others: 0 };

  function unanswered(error: unknown): void {
    logger.warn({ reason: connectionError(error).message }, "a button could not be answered");
  }

  async function carryOut({ user, conversation, message, answer }: Pressed, owner: boolean): Promise<void> {
    if (!(await inbound.isAdmitted(user, owner))) return;
    const { label, ...given } = answer;
    const endsAt = performance.now() + LASTS_MS;
    const retried = (work: () => Promise<void>) =>
      withRetries(work, { endsAt, signal, failureOf: sendingError }).catch(unanswered);
    const { text, data } = await inbound
      .command({ conversation, user, owner, ...given })
      .catch((error: unknown): CommandReply => {
        logger.warn({ code: toCairnError(error).code, err: error }, "a command was refused");
        return { text: wordsOf(toCairnError(error)) };
      });
    const address = slackAddress(conversation);
    const [first = "Done."] = pieces(asTyped(text));
    const answering = retried(() => api.whisper(address, user, first));
    if (data?.["answered"] === true) {
      // What was answered offers nothing any more.
      await retried(() => api.change(address.channel, message, { text: escaped(`Answer: ${label}`) }));
    }
    await answering;
  }

  return (payload) => {
    const pressed = pressedOf(payload);
    if (pressed === undefined) return;
    const owner = pressed.user === ownerId;
    const who = owner ? "owner" : "others";
    if (running[who] >= MOST) return;
    running[who]++;
    carryOut(pressed, owner)
      .catch(unanswered)
      .finally(() => running[who]--);
  };
}

function pressedOf(payload: unknown): Pressed | undefined {
  if (!isRecord(payload) || payload["type"] !== "block_actions" || !Array.isArray(payload["actions"])) return undefined;
  const { user, channel, message } = payload;
  const [action] = payload["actions"];
  const answer = isRecord(action) ? pressedChoice(action["value"]) : undefined;
  if (answer === undefined || !isRecord(user) || !isRecord(channel) || !isRecord(message)) return undefined;
  const { ts, thread_ts: thread } = message;
  if (!isId(user["id"]) || !isId(channel["id"]) || !isTime(ts)) return undefined;
  const conversation = conversationOf(channel["id"], isTime(thread) && thread !== ts ? thread : undefined);
  return { user: user["id"], conversation, message: ts, answer };
}
