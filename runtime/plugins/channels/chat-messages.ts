/**
 * What becomes of a person's message on a chat platform: a command, a message for an agent, or a sentence that says why it is neither. Of
 * strangers nothing is taken; with pairing on they are shown a code, alone with the bot and once.
 */

import type {
  Attachment,
  Channel,
  CommandHandler,
  CommandReply,
  CommandRequest,
  MessageHandler,
  Receiver,
  StrangerHandler,
} from "../../contracts/channel.ts";
import { type CairnError, toCairnError } from "../../contracts/errors.ts";
import { COMMAND_USAGE } from "../../domain/command-line.ts";
import { createAhead } from "./ahead.ts";
import { type Answer, type AnswersDeps, createAnswers } from "./answers.ts";
import type { ChatMessage } from "./chat-message.ts";

export interface ChatMessages {
  /**
   * False where it is a stranger's. Rejects where the message is to come again, and all behind it waits: the store is unavailable, or
   * the node takes nothing now.
   */
  take(message: ChatMessage, signal: AbortSignal): Promise<boolean>;
  /** A message is to be taken, after others: a command of the owner's goes first while files of those are fetched. */
  notice(message: ChatMessage): void;
  /** To receive with: what went first is kept beside the channel's position. */
  receiver(receive: Receiver["receive"]): Receiver["receive"];
  /** Whether commands of a person are taken that come by a button or a menu. A stranger is shown no code there. */
  isAdmitted(user: string, isOwner: boolean): Promise<boolean>;
  /** Carries out a command of somebody who is admitted. Rejects as `onCommand` does. */
  command(command: ChatCommand): Promise<CommandReply>;
  /** Anybody but the owner may be heard. */
  hearsOthers(): boolean;
  /** Answers that wait are not sent any more. */
  stop(): void;
  /** What the channel shows of them: those who handle what is taken. */
  readonly handlers: Required<Pick<Channel, "onMessage" | "onCommand" | "onStranger">>;
}

/** As in CommandRequest. */
export interface ChatCommand extends Pick<CommandRequest, "line" | "question" | "owner" | "externalId"> {
  readonly conversation: string;
  readonly user: string;
}

export interface ChatMessagesDeps extends AnswersDeps {
  /** As in `channels.<id>`. */
  readonly id: string;
}

/** A first word to a bot, on any platform. */
const WELCOME = ["I am here. Write to me; commands:", ...Object.values(COMMAND_USAGE)].join("\n");
/** Attempts to fetch the files of a message, about two minutes with their pauses: all later messages wait for it. */
const MOST_DOWNLOADS = 8;

export function createChatMessages(deps: ChatMessagesDeps): ChatMessages {
  const { id: channel, logger } = deps;
  const answers = createAnswers(deps);
  let onMessage: MessageHandler = notConnected;
  let onCommand: CommandHandler = notConnected;
  /** Without it the owner alone is heard. */
  let onStranger: StrangerHandler | undefined;

  /** Of the message whose files could not be fetched last. */
  let failures = { key: "", count: 0 };
  const ahead = createAhead({
    carryOut: (message) =>
      orRefused(message, async () => {
        const { text: line, conversation, user, isOwner: owner, externalId } = message;
        answer(message, (await command({ line, conversation, user, owner, externalId })).text);
      }),
    logger,
  });

  function answer(
    { conversation, user, isOwner, id: replyTo }: ChatMessage,
    text: string,
    lost?: Answer["lost"],
  ): void {
    answers.put({ conversation, user, isOwner, replyTo, text, ...(lost ? { lost } : {}) });
  }

  async function command({ conversation, user, ...given }: ChatCommand): Promise<CommandReply> {
    if (/^\/(?:start|help)\b/.test(given.line)) return { text: WELCOME };
    return onCommand({ address: { channel, conversation, user }, agent: "", ...given });
  }

  async function isHeard(message: ChatMessage): Promise<boolean> {
    if (message.isOwner) return true;
    const { user, name, isPrivate: mayAsk } = message;
    const admission = await onStranger?.({ channel, user, name, mayAsk });
    if (admission === undefined) return false;
    if (!admission.admitted && admission.code !== null) {
      answer(message, askOwner(admission.code), admission.withdraw);
    }
    return admission.admitted;
  }

  async function pass(message: ChatMessage, signal: AbortSignal): Promise<void> {
    const fetch = () => fetched(message, signal);
    const { attachments, problems } = await (message.files.length === 0 ? fetch() : ahead.fetching(fetch));
    if (message.text === "" && attachments.length === 0) {
      if (problems.length > 0) answer(message, problems.join("\n"));
      else if (message.hasUnread) {
        answer(message, "Agents are given text, pictures, recordings and files, and nothing else.");
      }
      return;
    }
    await onMessage({
      address: { channel, conversation: message.conversation, user: message.user },
      agent: "",
      externalId: message.externalId,
      messageId: message.id,
      text: message.text,
      owner: message.isOwner,
      sentAt: message.sentAt,
      ...(attachments.length === 0 ? {} : { attachments }),
    });
    if (problems.length > 0) answer(message, problems.join("\n"));
  }

  /** A file that the platform does not give out is said; the text goes in without it. So does one that fails again and again. */
  async function fetched(
    { conversation, id, files }: ChatMessage,
    signal: AbortSignal,
  ): Promise<{ readonly attachments: readonly Attachment[]; readonly problems: readonly string[] }> {
    const attachments: Attachment[] = [];
    const problems: string[] = [];
    for (const file of files) {
      try {
        attachments.push(await file(signal));
      } catch (error) {
        if (signal.aborted) throw error;
        const failure = toCairnError(error);
        const key = `${conversation}:${id}`;
        if (failure.retryable && (failures.key !== key || failures.count < MOST_DOWNLOADS)) {
          failures = { key, count: failures.key === key ? failures.count + 1 : 1 };
          if (failures.count < MOST_DOWNLOADS) throw error;
        }
        problems.push(wordsOf(failure));
      }
    }
    return { attachments, problems };
  }

  /** Who wrote it gets an error that a repetition would not mend, and a limit of their own, as an answer; other errors reject. */
  async function orRefused(message: ChatMessage, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const failure = toCairnError(error);
      // A limit of one person's must not hold up what others write: it is theirs to send it again.
      if (failure.retryable && failure.code !== "RUNTIME_RATE_LIMITED") throw error;
      logger.warn({ code: failure.code, err: error }, "a message was refused");
      // A message came again, without the files that it had: it is in the inbox. A command was not carried out.
      if (message.isCommand || failure.code !== "RUNTIME_CONFLICT") answer(message, wordsOf(failure));
    }
  }

  return {
    async take(message, signal) {
      if (!(await isHeard(message))) return false;
      if (message.isCommand) await ahead.take(message);
      else await orRefused(message, () => pass(message, signal));
      return true;
    },
    notice: ahead.notice,
    receiver: ahead.receiver,
    isAdmitted: async (user, isOwner) =>
      isOwner || (await onStranger?.({ channel, user, name: user, mayAsk: false }))?.admitted === true,
    command,
    hearsOthers: () => onStranger !== undefined,
    stop: () => answers.stop(),
    handlers: {
      onMessage(handler) {
        onMessage = handler;
      },
      onCommand(handler) {
        onCommand = handler;
      },
      onStranger(handler) {
        onStranger = handler;
      },
    },
  };
}

async function notConnected(): Promise<never> {
  throw new Error("The channel is not connected.");
}

function askOwner(code: string): string {
  return `I answer nobody whom my owner does not know. Give my owner this code within an hour: ${code}. When it is approved, write again.`;
}

/** The message and the hint. */
export function wordsOf({ message, details }: CairnError): string {
  return details.hint === undefined ? message : `${message} ${details.hint}`;
}
