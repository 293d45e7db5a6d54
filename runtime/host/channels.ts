/** From `channels` in the configuration to the channels of a node. */

import type { Commands, Turns } from "../app/api.ts";
import type { Pairings } from "../app/pairings.ts";
import type { ReceivingChannel } from "../app/receivers.ts";
import type { Config } from "../config/index.ts";
import type { AgentChannel } from "../contracts/agent-channel.ts";
import { type Channel, webhookPath } from "../contracts/channel.ts";
import { ConfigError } from "../contracts/errors.ts";
import type { Logger, NewId } from "../contracts/ports.ts";
import type { Voice } from "../contracts/voice.ts";
import { agent as agentManifest } from "../plugins/channels/agent/manifest.ts";
import type { AudioRoute, ChannelManifest, ChannelNeeds } from "../plugins/channels/manifest.ts";
import { CHANNELS } from "../plugins/channels/manifests.ts";
import { voice as voiceManifest } from "../plugins/channels/voice/manifest.ts";
import type { Service } from "./services.ts";

export interface ChannelParts {
  /** The one that HTTP posts to. */
  readonly agent: AgentChannel;
  /** What recordings are handed to; null: there is no channel for them. */
  readonly voice: Voice | null;
  /** All of them, by their instance ids. */
  readonly byId: ReadonlyMap<string, Channel>;
  /** Those that receive on one node at a time. */
  readonly receiving: readonly ReceivingChannel[];
  /** To be called before they start. */
  connect(node: { readonly turns: Turns; readonly commands: Commands }): void;
  readonly services: readonly Service[];
}

export interface ChannelDeps {
  readonly pairings: Pick<Pairings, "admit">;
  /** By plugins of other people, by the ids of their entries. */
  readonly brought: ReadonlyMap<string, Channel>;
  readonly newId: NewId;
  readonly logger: Logger;
}

export async function createChannels(config: Config, deps: ChannelDeps): Promise<ChannelParts> {
  const { id } = agentManifest;
  const owner = config.channels[id]?.owner_id;
  const agent = await agentManifest.create({
    id,
    newId: deps.newId,
    ...(owner === undefined ? {} : { ownerId: owner }),
  });
  const others = Object.keys(config.channels).filter((key) => key !== id && config.channels[key]?.enabled);
  const created = await Promise.all(others.map((key) => createChannel(key, config, deps)));
  const channels: readonly Channel[] = [agent, ...created.filter((channel) => channel !== null)];
  return {
    agent,
    voice: channels.find((channel) => channel.voice !== undefined)?.voice ?? null,
    byId: new Map(channels.map((channel) => [channel.id, channel])),
    receiving: channels.flatMap(({ id: key, platform, receiver }) => {
      const settings = config.channels[key];
      if (receiver === undefined || settings === undefined) return [];
      const { max_retries: maxRetries, initial_delay: initialDelayMs, max_delay: maxDelayMs } = settings.reconnect;
      return [{ id: key, platform, receiver, reconnect: { maxRetries, initialDelayMs, maxDelayMs } }];
    }),
    connect({ turns, commands }) {
      for (const channel of channels) {
        channel.onMessage((message) => turns.accept(message));
        channel.onCommand((command) => commands.run(command));
        channel.onRepeat?.((identity) => turns.find(identity));
        if (channel.onStranger && config.channels[channel.id]?.pairing) {
          channel.onStranger((stranger) => deps.pairings.admit(stranger));
        }
      }
    },
    services: channels.map((channel) => ({
      name: `channel ${channel.id}`,
      start: () => channel.start(),
      stop: () => channel.stop(),
    })),
  };
}

/** Null for a kind of a later version: the configuration's warnings say that nothing is received there. */
async function createChannel(
  id: string,
  { channels }: Config,
  { brought, newId, logger }: ChannelDeps,
): Promise<Channel | null> {
  const channel = brought.get(id);
  if (channel) return channel;
  const settings = channels[id];
  const manifest: ChannelManifest | undefined = CHANNELS.find(({ id: kind }) => kind === settings?.kind);
  if (settings === undefined || manifest === undefined) return null;
  const { token = "", app_token: appToken, owner_id: ownerId, base_url: baseUrl, webhook } = settings;
  const webhookUrl = webhook === undefined ? undefined : webhook.replace(/\/+$/, "") + webhookPath(id);
  const audio = audioOf(settings);
  // Was checked when the configuration was read.
  if (token === "" && !audio) throw new ConfigError("CONFIG_INVALID", `channels.${id} has no token.`);
  return manifest.create({
    id,
    token,
    appToken,
    ownerId,
    baseUrl,
    webhookUrl,
    audio,
    newId,
    logger: logger.child({ channel: id }),
  });
}

type Settings = Config["channels"][string];

function audioOf({ kind, transcription, speech, keep_audio: keep }: Settings): ChannelNeeds["audio"] {
  if (kind !== voiceManifest.id || !transcription || !speech) return undefined;
  return { transcription: routeOf(transcription), speech: { ...routeOf(speech), voice: speech.voice }, keep };
}

function routeOf(route: NonNullable<Settings["transcription"]>): AudioRoute {
  return { baseUrl: route.base_url, model: route.model, apiKey: route.api_key };
}
