/** Buttons and commands of Discord's own menu: the owner's become command lines, those of others get nothing. */

import {
  type APIInteraction,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
} from "discord-api-types/v10";
import { toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { isRecord } from "../../../contracts/values.ts";
import { wordsOf } from "../chat-messages.ts";
import type { DiscordApi, InteractionAddress } from "./api.ts";
import { connectionError } from "./errors.ts";
import { cut } from "./messages.ts";
import { isSnowflake } from "./positions.ts";

export interface InteractionsDeps {
  readonly api: DiscordApi;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  /** What a command answers. */
  command(line: string, conversation: string, user: string): Promise<string>;
}

/** That are answered at once; more are dropped, which Discord shows as failed. */
const MOST = 10;

/** Takes an interaction of the gateway's; answers it behind the receiving. */
export function createInteractions({ api, ownerId, logger, command }: InteractionsDeps): (value: unknown) => void {
  let running = 0;

  async function answer(interaction: APIInteraction, line: string, conversation: string, user: string): Promise<void> {
    const { application_id: application, id, token } = interaction;
    const address: InteractionAddress = { application, id, token };
    // Discord waits three seconds for an answer: that it is being worked on, which the owner alone is shown.
    await api.respond(address, {
      type: InteractionResponseType.DeferredChannelMessageWithSource,
      data: { flags: MessageFlags.Ephemeral },
    });
    const failure = { hasFailed: false };
    const text = await command(line, conversation, user).catch((error: unknown) => {
      failure.hasFailed = true;
      logger.warn({ code: toCairnError(error).code, err: error }, "a command was refused");
      return wordsOf(toCairnError(error));
    });
    await api.editResponse(address, { content: cut(text), allowed_mentions: { parse: [] } });
    if (interaction.type !== InteractionType.MessageComponent || failure.hasFailed) return;
    // What was answered offers nothing any more.
    await api.editMessage(conversation, interaction.message.id, { components: [] });
  }

  return (value) => {
    if (running >= MOST || !isRecord(value)) return;
    // Discord's documentation has the type; what is used of it is checked.
    const interaction = value as unknown as APIInteraction;
    const user = (interaction.member?.user ?? interaction.user)?.id;
    const conversation = interaction.channel?.id;
    if (ownerId === undefined || user !== ownerId || !isSnowflake(conversation)) return;
    const line = lineOf(interaction);
    if (line === undefined) return;
    running++;
    answer(interaction, line, conversation, user)
      .catch((error: unknown) => {
        logger.warn({ reason: connectionError(error).message }, "an interaction could not be answered");
      })
      .finally(() => running--);
  };
}

function lineOf(interaction: APIInteraction): string | undefined {
  if (interaction.type === InteractionType.MessageComponent) {
    const { custom_id: line } = interaction.data ?? {};
    return typeof line === "string" && line.startsWith("/answer ") ? line : undefined;
  }
  if (interaction.type !== InteractionType.ApplicationCommand) return undefined;
  const { data } = interaction;
  if (data?.type !== ApplicationCommandType.ChatInput) return undefined;
  const texts = (data.options ?? []).flatMap((option) =>
    option.type === ApplicationCommandOptionType.String ? [option.value] : [],
  );
  return [`/${data.name}`, ...texts].join(" ");
}
