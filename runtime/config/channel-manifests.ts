/** What the configuration has to know of a channel's kind. */
import { agent } from "../plugins/channels/agent/manifest.ts";
import type { ChannelManifest } from "../plugins/channels/manifest.ts";
import { CHANNELS, CHAT_CHANNELS } from "../plugins/channels/manifests.ts";

export interface ConfiguredChannel {
  /** It is of a chat platform, not the HTTP channel. */
  readonly chat: boolean;
  /** Of settings that name one of its conversations; undefined: any text is one. */
  readonly rules: ChannelManifest["conversation"];
  /** Its platform may post messages. */
  readonly takesWebhooks: boolean;
  /** It needs `app_token`. */
  readonly takesAppToken: boolean;
}

/** Null for a kind that this version does not have. */
export function channelManifest(id: string, kind: string): ConfiguredChannel | null {
  if (id === agent.id)
    return kind === agent.id ? { chat: false, rules: undefined, takesWebhooks: false, takesAppToken: false } : null;
  const manifest: ChannelManifest | undefined = CHANNELS.find(({ id: built }) => built === kind);
  return manifest === undefined
    ? null
    : {
        chat: CHAT_CHANNELS.some(({ id: chat }) => chat === kind),
        rules: manifest.conversation,
        takesWebhooks: manifest.takesWebhooks === true,
        takesAppToken: manifest.takesAppToken === true,
      };
}

/** The conversation of a schedule that names a channel: its own setting, else the private one of the owner. */
export function conversationOf(
  id: string,
  channel: { readonly kind: string; readonly owner_id?: string | undefined },
  given: string | undefined,
): string | undefined {
  if (given !== undefined) return given;
  const ofOwner = channelManifest(id, channel.kind)?.rules?.ofOwner;
  return channel.owner_id === undefined ? undefined : ofOwner?.(channel.owner_id);
}
