/** The channels that a setup offers, with what it asks for each: from their manifests. */

import type { ChannelManifest, ChannelSetup, ChannelSetupField } from "../../runtime/plugins/channels/manifest.ts";
import { CHANNELS, CHAT_CHANNELS } from "../../runtime/plugins/channels/manifests.ts";

export const CHANNEL_IDS = CHANNELS.map(({ id }) => id);
/** The place of the bot's token, which has an answer of its own. */
export const TOKEN = "token";

export interface OfferedChannel extends Pick<ChannelManifest, "id" | "about" | "owner"> {
  readonly setup: ChannelSetup;
}

export const OFFERED_CHANNELS: readonly OfferedChannel[] = CHANNELS.flatMap((manifest: ChannelManifest) => {
  const { id, about, owner, setup = usualSetup(manifest) } = manifest;
  return setup === undefined ? [] : [{ id, about, setup, ...(owner && { owner }) }];
});

/** What every bot needs, where its manifest does not say it. */
function usualSetup({ id }: ChannelManifest): ChannelSetup | undefined {
  if (!CHAT_CHANNELS.some((chat) => chat.id === id)) return undefined;
  const variable = `${id.toUpperCase().replaceAll("-", "_")}_TOKEN`;
  return { owner: {}, binds: true, fields: [{ key: TOKEN, label: `Token of the ${id} bot`, variable }] };
}

export function offeredChannel(id: string): OfferedChannel | undefined {
  return OFFERED_CHANNELS.find((channel) => channel.id === id);
}

/** All that is no bot's token. */
export function settingFields(id: string): readonly ChannelSetupField[] {
  return offeredChannel(id)?.setup.fields.filter(({ key }) => key !== TOKEN) ?? [];
}
