/** A channel's manifest, and what a channel is made from. */

import type { Channel } from "../../contracts/channel.ts";
import type { PluginManifest } from "../../contracts/plugin.ts";
import type { Logger, NewId } from "../../contracts/ports.ts";

/** A route of an OpenAI-compatible audio API. */
export interface AudioRoute {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  /** For speech. */
  readonly voice?: string | undefined;
}

/** One entry of `channels.<id>`, with what channels may use of the node. */
export interface ChannelNeeds {
  /** As in `channels.<id>`. */
  readonly id: string;
  /** The bot's; empty for kinds that have none. */
  readonly token: string;
  /** Of the app, where the platform has another token for it (`takesAppToken`). */
  readonly appToken?: string | undefined;
  /** Who the owner is on the platform; undefined: nobody. */
  readonly ownerId: string | undefined;
  /** Of the platform's API; undefined: the platform's own. */
  readonly baseUrl: string | undefined;
  /** Whole, for the platform to call; undefined: the channel is to ask. */
  readonly webhookUrl?: string | undefined;
  /** Of channels that listen and speak. */
  readonly audio?:
    | { readonly transcription: AudioRoute; readonly speech: AudioRoute; readonly keep: boolean }
    | undefined;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** A value that a setup asks for. */
export interface ChannelSetupField {
  /** Its place below `channels.<id>`: `token`, `speech.model`. */
  readonly key: string;
  /** What is asked: `Model for speech`. */
  readonly label: string;
  /** The usual variable of a secret, of which cairn.yaml has the name alone. */
  readonly variable?: string;
  readonly usual?: string;
  /** Key of a field whose answer is the usual one here, too. */
  readonly like?: string;
  /** What an empty answer means; without it an answer is needed. */
  readonly empty?: string;
  /** Where it is found, said before it is asked for. */
  readonly where?: string;
  /** Given by flags and files of answers alone. */
  readonly unasked?: true;
  readonly pattern?: RegExp;
  /** What the pattern allows, in words. */
  readonly allowed?: string;
}

/** A secret that was typed at a setup, with the other answers by their keys. */
export interface TypedSecret {
  readonly key: string;
  readonly value: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** What a setup asks for an entry of `channels`. */
export interface ChannelSetup {
  /** What the owner's id is, and where it is found; absent: there is none. */
  readonly owner?: { readonly where?: string };
  /** Whether its conversations can be bound to agents. */
  readonly binds?: true;
  readonly fields: readonly ChannelSetupField[];
  /** What the platform says of a secret, in a sentence. CHANNEL_REFUSED where it does not take it; any other error where it cannot be asked. */
  verify?(secret: TypedSecret, signal: AbortSignal): Promise<string>;
}

/** Its id is the `kind` in cairn.yaml. */
export interface ChannelManifest<Made extends Channel = Channel> extends PluginManifest<"channel", ChannelNeeds, Made> {
  /** Its platform may post messages to a node (`channels.<id>.webhook`). */
  readonly takesWebhooks?: true;
  /** It needs a second token, the app's (`channels.<id>.app_token`). */
  readonly takesAppToken?: true;
  /** What `owner_id` may be; absent: any word. */
  readonly owner?: {
    readonly pattern: RegExp;
    /** What the pattern allows, in words. */
    readonly allowed: string;
  };
  /** Absent: for a bot its token and the owner's id; a channel that is none is not offered. */
  readonly setup?: ChannelSetup;
  /** For settings that name one of its conversations. */
  readonly conversation?: {
    readonly pattern: RegExp;
    /** What the pattern allows, in words. */
    readonly allowed: string;
    /** The private one of the owner with this id; absent where it cannot be computed. */
    ofOwner?(ownerId: string): string;
  };
}
