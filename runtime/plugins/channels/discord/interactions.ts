/** Buttons and commands of Discord's own menu: the owner's become command lines, those of others get nothing. */

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
import { type ChatMessages, type OwnerCommand, wordsOf } from "../chat-messages.ts";
import { pressedChoice } from "../choices.ts";
import type { DiscordApi, InteractionAddress } from "./api.ts";
import { connectionError } from "./errors.ts";
import { cut } from "./messages.ts";
import { isSnowflake } from "./positions.ts";

export interface InteractionsDeps {
  readonly api: DiscordApi;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  readonly command: ChatMessages["command"];
}

/** That are answered at once; more are dropped, which Discord shows as failed. */
const MOST = 10;

/** Takes an interaction of the gateway's; answers it behind the receiving. */
export function createInteractions({ api, ownerId, logger, command }: InteractionsDeps): (value: unknown) => void {
  let running = 0;

  async function answer(interaction: APIInteraction, given: OwnerCommand): Promise<void> {
    const { application_id: application, id, token } = interaction;
    const address: InteractionAddress = { application, id, token };
    // Discord waits three seconds for an answer: that it is being worked on, which the owner alone is shown.
    await api.respond(address, {
      type: InteractionResponseType.DeferredChannelMessageWithSource,
      data: { flags: MessageFlags.Ephemeral },
    });
    const { text, data } = await command(given).catch((error: unknown): CommandReply => {
      logger.warn({ code: toCairnError(error).code, err: error }, "a command was refused");
      return { text: wordsOf(toCairnError(error)) };
    });
    await api.editResponse(address, { content: cut(text), allowed_mentions: { parse: [] } });
    if (interaction.type !== InteractionType.MessageComponent || data?.["answered"] !== true) return;
    // What was answered offers nothing any more.
    await api.editMessage(given.conversation, interaction.message.id, { components: [] });
  }

  return (value) => {
    if (running >= MOST || !isRecord(value)) return;
    // Discord's documentation has the type; what is used of it is checked.
    const interaction = value as unknown as APIInteraction;
    const user = (interaction.member?.user ?? interaction.user)?.id;
    const conversation = interaction.channel?.id;
    if (ownerId === undefined || user !== ownerId || !isSnowflake(conversation)) return;
    const given = commandOf(interaction);
    if (given === undefined) return;
    running++;
    answer(interaction, { ...given, conversation, user })
      .catch((error: unknown) => {
        logger.warn({ reason: connectionError(error).message }, "an interaction could not be answered");
      })
      .finally(() => running--);
  };
}

function commandOf(interaction: APIInteraction): Pick<OwnerCommand, "line" | "question"> | undefined {
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
