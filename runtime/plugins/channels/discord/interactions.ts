/** Buttons and commands of Discord's own menu, of the owner and of people who are admitted: they become command lines. Strangers get nothing. */

import {
  type APIInteraction,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
} from "discord-api-types/v10";
import type { CommandReply } from "../../../contracts/channel.ts";
import { toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type ChatCommand, type ChatMessages, wordsOf } from "../chat-messages.ts";
import { pressedChoice } from "../choices.ts";
import { createPresses } from "../presses.ts";
import { type Retries, withRetries } from "../retries.ts";
import { type DiscordApi, FIRST_ANSWER_MS, type InteractionAddress } from "./api.ts";
import { connectionError, hasCode, isRefused, isUnheard, sendingError } from "./errors.ts";
import { cut } from "./messages.ts";
import { isSnowflake } from "./positions.ts";

export interface InteractionsDeps {
  readonly api: DiscordApi;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  readonly inbound: Pick<ChatMessages, "isAdmitted" | "command">;
  /** Aborts when the channel stops. */
  readonly signal: AbortSignal;
}

/** Milliseconds in which Discord takes answers to an interaction: as long as its token lives. */
const LASTS_MS = 15 * 60_000;
/** Discord's code for a first answer that it has: an earlier attempt has arrived. */
const ACKNOWLEDGED = 40_060;

/** Takes an interaction of the gateway's; answers it behind the receiving. */
export function createInteractions(deps: InteractionsDeps): (value: unknown) => void {
  const { api, ownerId, logger, inbound, signal } = deps;
  /** Those that are dropped Discord shows as failed. */
  const presses = createPresses();

  function unanswered(error: unknown): void {
    logger.warn({ reason: connectionError(error).message }, "an interaction could not be answered");
  }

  /** Resolves also where no answer was heard: Discord may show by then that the command is worked on. */
  async function acknowledge(address: InteractionAddress, retries: Retries): Promise<void> {
    const hidden = { flags: MessageFlags.Ephemeral };
    const type = InteractionResponseType.DeferredChannelMessageWithSource;
    let mayBeTaken = false;
    const respond = async (): Promise<void> => {
      await api.respond(address, { type, data: hidden }).catch((error: unknown) => {
        if (hasCode(error, ACKNOWLEDGED)) return;
        // A refusal is also one of what was sent before.
        mayBeTaken = isUnheard(error) || (mayBeTaken && !isRefused(error));
        throw error;
      });
    };
    await withRetries(respond, retries).catch((error: unknown) => {
      if (!mayBeTaken || signal.aborted) throw error;
    });
  }

  async function answer(interaction: APIInteraction, given: ChatCommand): Promise<void> {
    const beganAt = performance.now();
    const lasting = (ms: number): Retries => ({ endsAt: beganAt + ms, signal, failureOf: sendingError });
    if (!(await inbound.isAdmitted(given.user, given.owner))) return;
    const { application_id: application, id, token } = interaction;
    const address: InteractionAddress = { application, id, token };
    // Discord waits three seconds for an answer: that it is being worked on, which nobody else is shown.
    await acknowledge(address, lasting(FIRST_ANSWER_MS));
    const { text, data } = await inbound.command(given).catch((error: unknown): CommandReply => {
      logger.warn({ code: toCairnError(error).code, err: error }, "a command was refused");
      return { text: wordsOf(toCairnError(error)) };
    });
    const content = { content: cut(text), allowed_mentions: { parse: [] } };
    const answering = withRetries(() => api.editResponse(address, content), lasting(LASTS_MS)).catch(unanswered);
    if (interaction.type === InteractionType.MessageComponent && data?.["answered"] === true) {
      // What was answered offers nothing any more.
      const { id: message } = interaction.message;
      const change = () => api.editMessage(given.conversation, message, { components: [] });
      await withRetries(change, lasting(LASTS_MS)).catch(unanswered);
    }
    await answering;
  }

  return (value) => {
    if (!isRecord(value)) return;
    // Discord's documentation has the type; what is used of it is checked.
    const interaction = value as unknown as APIInteraction;
    const user = (interaction.member?.user ?? interaction.user)?.id;
    const conversation = interaction.channel?.id;
    if (!isSnowflake(user) || !isSnowflake(conversation)) return;
    const given = commandOf(interaction);
    if (given === undefined) return;
    const owner = user === ownerId;
    presses.take(user, owner, () => answer(interaction, { ...given, conversation, user, owner }).catch(unanswered));
  };
}

function commandOf(interaction: APIInteraction): Pick<ChatCommand, "line" | "question"> | undefined {
  if (interaction.type === InteractionType.MessageComponent) {
    const pressed = pressedChoice(interaction.data?.custom_id);
    if (pressed === undefined) return undefined;
    const { label: _label, ...given } = pressed;
    return given;
  }
  if (interaction.type !== InteractionType.ApplicationCommand) return undefined;
  const { data } = interaction;
  if (data?.type !== ApplicationCommandType.ChatInput) return undefined;
  const options: readonly unknown[] = Array.isArray(data.options) ? data.options : [];
  const texts = options.flatMap((option) =>
    isRecord(option) && option["type"] === ApplicationCommandOptionType.String ? [option["value"]] : [],
  );
  return { line: [`/${data.name}`, ...texts].join(" ") };
}
