/** What each plugin is given of the configuration. Pure. */

import { webhookPath } from "../contracts/channel.ts";
import type { PlainNeeds } from "../contracts/plugin-trial.ts";
import type { UsablePlugin } from "../files/plugin-package.ts";
import type { Config } from "./config.ts";
import { CHANNEL_KINDS, PROVIDER_KINDS } from "./known-ids.ts";

const OWN_KINDS: Readonly<Record<"provider" | "channel", readonly string[]>> = {
  provider: PROVIDER_KINDS,
  channel: CHANNEL_KINDS,
};

/** Ids and kinds of the entries that plugins bring; channels that are not enabled are left out. */
export function entriesOf(kind: "provider" | "channel", config: Config): [id: string, kind: string][] {
  const entries =
    kind === "provider"
      ? Object.entries(config.providers)
      : Object.entries(config.channels).filter(([, { enabled }]) => enabled);
  return entries.flatMap(([id, { kind: own }]): [string, string][] =>
    OWN_KINDS[kind].includes(own) ? [] : [[id, own]],
  );
}

/** One for each call of `create`. */
export function needsOf({ id, manifest }: UsablePlugin, config: Config): readonly PlainNeeds[] {
  const { kind } = manifest.cairn;
  if (kind === "tool" || kind === "hook") return [{ id, settings: config.plugins[id]?.settings ?? {} }];
  const entries = entriesOf(kind, config).flatMap(([entry, brought]) => (brought === id ? [entry] : []));
  return entries.flatMap((entry) => (kind === "provider" ? providerNeeds(entry, config) : channelNeeds(entry, config)));
}

function providerNeeds(id: string, { providers }: Config): PlainNeeds[] {
  const provider = providers[id];
  if (!provider) return [];
  return [
    {
      id,
      settings: provider.settings,
      model: provider.model,
      apiKey: provider.api_key,
      baseUrl: provider.base_url,
      maxTokens: provider.max_tokens,
      temperature: provider.temperature,
      timeoutMs: provider.timeout,
      maxRetries: provider.max_retries,
    },
  ];
}

function channelNeeds(id: string, { channels }: Config): PlainNeeds[] {
  const channel = channels[id];
  if (!channel) return [];
  const { settings, token = "", owner_id: ownerId, base_url: baseUrl, webhook } = channel;
  const webhookUrl = webhook === undefined ? undefined : webhook.replace(/\/+$/, "") + webhookPath(id);
  return [{ id, settings, token, ownerId, baseUrl, webhookUrl }];
}
