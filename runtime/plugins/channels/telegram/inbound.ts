/** What becomes of an update: a message for an agent, a command, or nothing. Strangers get no answer, and nobody learns that they wrote. */

import type { Message, Update, User } from "grammy/types";
import type { Attachment, CommandHandler, MessageHandler, StrangerHandler } from "../../../contracts/channel.ts";
import { type CairnError, toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { COMMAND_USAGE } from "../../../domain/command-line.ts";
import { conversationOf } from "./chat-address.ts";
import type { Downloads } from "./downloads.ts";
import { connectionError } from "./errors.ts";
import type { Messages } from "./messages.ts";
import type { TakeUpdate } from "./polling.ts";

export interface InboundDeps {
  /** As in `channels.<id>`. */
  readonly id: string;
  /** The bot's number: messages of another bot have numbers of their own. */
  readonly bot: string;
  readonly ownerId: string | undefined;
  readonly messages: Pick<Messages, "say">;
  readonly downloads: Downloads;
  readonly onMessage: MessageHandler;
  readonly onCommand: CommandHandler;
  /** Undefined: the owner alone is heard. */
  readonly onStranger: () => StrangerHandler | undefined;
  readonly logger: Logger;
}

/** Telegram's own first word to a bot. */
const WELCOME = ["I am here. Write to me; commands:", ...Object.values(COMMAND_USAGE)].join("\n");
/** Attempts to fetch a file, about two minutes with their pauses: all later messages wait for it. */
const MOST_DOWNLOADS = 8;
/** What people may send that agents are not given. */
const UNREAD = ["sticker", "location", "venue", "contact", "poll", "dice", "game", "story", "video_note"] as const;

/** Rejects where the update is to come again: the store is away, or the node takes nothing now. */
export function createInbound(deps: InboundDeps): TakeUpdate {
  const { id, bot, ownerId, messages, downloads, onMessage, onCommand, logger } = deps;

  /** One after the other, and behind the receiving: Telegram may be slow to take them. */
  let answers: Promise<void> = Promise.resolve();
  /** Of the file that could not be fetched last. */
  let failures = { key: "", count: 0 };

  /** The owner gets an error that a repetition would not mend as an answer; other errors reject. */
  async function withRefusals(message: Message, conversation: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const failure = toCairnError(error);
      if (failure.retryable) throw error;
      logger.warn({ code: failure.code, err: error }, "a message was refused");
      // It came again, without the file that it had: it is in the inbox.
      if (failure.code === "RUNTIME_CONFLICT") return;
      answer(message, conversation, words(failure));
    }
  }

  function answer(message: Message, conversation: string, text: string): void {
    answers = answers
      .then(() => messages.say(conversation, text, message.message_id))
      .catch((error: unknown) => {
        logger.warn({ reason: connectionError(error).message }, "an answer could not be sent");
      });
  }

  async function command(message: Message, conversation: string, owner: boolean, line: string): Promise<void> {
    if (/^\/(?:start|help)\b/.test(line)) return answer(message, conversation, WELCOME);
    const address = { channel: id, conversation, user: String(message.from?.id) };
    const reply = await onCommand({ address, agent: "", line, owner });
    answer(message, conversation, reply.text);
  }

  async function say(
    message: Message,
    conversation: string,
    owner: boolean,
    text: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { attachments, problem } = await attached(message, signal);
    if (text === "" && attachments.length === 0) {
      if (problem !== null) answer(message, conversation, problem);
      else if (UNREAD.some((kind) => kind in message)) {
        answer(message, conversation, "Agents are given text, pictures, recordings and files, and nothing else.");
      }
      return;
    }
    await onMessage({
      address: { channel: id, conversation, user: String(message.from?.id) },
      agent: "",
      externalId: `${bot}:${message.message_id}`,
      text,
      owner,
      sentAt: new Date(message.date * 1_000).toISOString(),
      ...(attachments.length === 0 ? {} : { attachments }),
    });
    if (problem !== null) answer(message, conversation, problem);
  }

  /** A file that Telegram does not give out is said; the text goes in without it. So does one that fails again and again. */
  async function attached(
    message: Message,
    signal: AbortSignal,
  ): Promise<{ readonly attachments: readonly Attachment[]; readonly problem: string | null }> {
    try {
      const attachment = await downloads.of(message, signal);
      return { attachments: attachment === null ? [] : [attachment], problem: null };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = toCairnError(error);
      const key = `${message.chat.id}:${message.message_id}`;
      failures = { key, count: failures.key === key ? failures.count + 1 : 1 };
      if (failure.retryable && failures.count < MOST_DOWNLOADS) throw error;
      return { attachments: [], problem: words(failure) };
    }
  }

  async function take(
    message: Message,
    conversation: string,
    owner: boolean,
    username: string,
    signal: AbortSignal,
  ): Promise<void> {
    const text = message.text ?? message.caption ?? "";
    const [, name, to] = (isCommand(message) && /^\/(\w+)(?:@(\w+))?/.exec(text)) || [];
    if (name === undefined) return say(message, conversation, owner, text, signal);
    if (to === undefined) return command(message, conversation, owner, text);
    // In a group it may be another bot's.
    if (to.toLowerCase() === username.toLowerCase()) {
      return command(message, conversation, owner, text.replace(`@${to}`, ""));
    }
  }

  /** A stranger learns nothing but a code, alone with the bot and once. */
  async function isAdmitted(message: Message & { readonly from: User }, conversation: string): Promise<boolean> {
    const { from, chat } = message;
    const ask = deps.onStranger();
    if (ask === undefined) return false;
    const name = [from.first_name, from.last_name].filter(Boolean).join(" ");
    const admission = await ask({ channel: id, user: String(from.id), name, mayAsk: chat.type === "private" });
    if (!admission.admitted && admission.code !== null) answer(message, conversation, askOwner(admission.code));
    return admission.admitted;
  }

  return async ({ message }, username, signal) => {
    if (!isPerson(message)) return;
    const topic = message.is_topic_message ? message.message_thread_id : undefined;
    const conversation = conversationOf(message.chat.id, topic);
    const owner = ownerId !== undefined && String(message.from.id) === ownerId;
    if (!owner && !(await isAdmitted(message, conversation))) return;
    await withRefusals(message, conversation, () => take(message, conversation, owner, username, signal));
  };
}

/** Posts of channels and of anonymous administrators have nobody to answer for them. */
function isPerson(
  message: (Message & Update.NonChannel) | undefined,
): message is Message & Update.NonChannel & { readonly from: User } {
  if (message?.from === undefined || message.sender_chat !== undefined || message.from.is_bot) return false;
  return Number.isSafeInteger(message.from.id) && Number.isSafeInteger(message.chat?.id);
}

function askOwner(code: string): string {
  return `I answer nobody whom my owner does not know. Give my owner this code within an hour: ${code}. When it is approved, write again.`;
}

function isCommand({ entities = [] }: Message): boolean {
  return entities.some(({ type, offset }) => type === "bot_command" && offset === 0);
}

function words({ message, details }: CairnError): string {
  return details.hint === undefined ? message : `${message} ${details.hint}`;
}
