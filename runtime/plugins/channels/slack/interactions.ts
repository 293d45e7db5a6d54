/** Buttons that the owner and people who are admitted press: they become command lines. Strangers get nothing. */

import type { CommandReply } from "../../../contracts/channel.ts";
import { toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type ChatMessages, wordsOf } from "../chat-messages.ts";
import { type PressedChoice, pressedChoice } from "../choices.ts";
import { createPresses } from "../presses.ts";
import { type Retries, withRetries } from "../retries.ts";
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

/** Milliseconds: Slack itself takes answers to an interaction for half an hour. */
const LASTS_MS = 30 * 60_000;

/** Takes the payload of an envelope `interactive`; answers it behind the receiving. */
export function createInteractions(deps: InteractionsDeps): (payload: unknown) => void {
  const { api, ownerId, logger, inbound, signal } = deps;
  const presses = createPresses();

  function unanswered(error: unknown): void {
    logger.warn({ reason: connectionError(error).message }, "a button could not be answered");
  }

  /** While the database does not answer nobody can be told from a stranger, who gets nothing: the press waits, as a message does. */
  async function isAdmitted(
    user: string,
    owner: boolean,
    retries: Pick<Retries, "endsAt" | "signal">,
  ): Promise<boolean> {
    let admitted = false;
    const ask = async (): Promise<void> => {
      admitted = await inbound.isAdmitted(user, owner);
    };
    await withRetries(ask, { ...retries, failureOf: toCairnError });
    return admitted;
  }

  async function carryOut({ user, conversation, message, answer }: Pressed, owner: boolean): Promise<void> {
    const retries = { endsAt: performance.now() + LASTS_MS, signal };
    if (!(await isAdmitted(user, owner, retries))) return;
    const { label, ...given } = answer;
    const { text, data } = await inbound
      .command({ conversation, user, owner, ...given })
      .catch((error: unknown): CommandReply => {
        logger.warn({ code: toCairnError(error).code, err: error }, "a command was refused");
        return { text: wordsOf(toCairnError(error)) };
      });
    const address = slackAddress(conversation);
    const [first = "Done."] = pieces(asTyped(text));
    // Slack has no key for it by which it would know a second one.
    const whispering = { ...retries, failureOf: sendingError, onlyNotTaken: true } as const;
    const answering = withRetries(() => api.whisper(address, user, first), whispering).catch(unanswered);
    if (data?.["answered"] === true) {
      // What was answered offers nothing any more.
      const change = () => api.change(address.channel, message, { text: escaped(`Answer: ${label}`) });
      await withRetries(change, { ...retries, failureOf: sendingError }).catch(unanswered);
    }
    await answering;
  }

  return (payload) => {
    const pressed = pressedOf(payload);
    if (pressed === undefined) return;
    const owner = pressed.user === ownerId;
    presses.take(pressed.user, owner, () => carryOut(pressed, owner).catch(unanswered));
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
