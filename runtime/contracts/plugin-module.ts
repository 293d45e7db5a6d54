/**
 * What a plugin of other people exports: `create`, by its kind. What describes it is in its package.json. The call starts nothing and
 * connects to nothing: it is made twice, once in a process of its own, which finds out whether it ends.
 */

import type { Channel } from "./channel.ts";
import type { AnyHook } from "./hooks.ts";
import type { LoadedKind } from "./plugin.ts";
import type { Logger, NewId } from "./ports.ts";
import type { Provider } from "./provider.ts";
import type { Tool } from "./tool.ts";

export interface PluginNeeds {
  /** The plugin's; of a provider or channel that of its entry in cairn.yaml. */
  readonly id: string;
  /** As its settings schema has them, with defaults and with references resolved. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly logger: Logger;
}

/** One entry of `providers.<id>`. */
export interface ProviderPluginNeeds extends PluginNeeds {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  /** Longest silence of a request. */
  readonly timeoutMs: number;
  /** Of one request, by the provider itself. */
  readonly maxRetries: number;
}

/** One entry of `channels.<id>`. */
export interface ChannelPluginNeeds extends PluginNeeds {
  /** Empty where the entry has none. */
  readonly token: string;
  /** Who the owner is on the platform; undefined: nobody. */
  readonly ownerId: string | undefined;
  readonly baseUrl: string | undefined;
  /** Whole, for the platform to call; undefined: the channel is to ask. */
  readonly webhookUrl: string | undefined;
  readonly newId: NewId;
}

/** What `create` of each kind is given and makes. */
export interface PluginKinds {
  readonly provider: { readonly needs: ProviderPluginNeeds; readonly made: Provider };
  readonly channel: { readonly needs: ChannelPluginNeeds; readonly made: Channel };
  readonly tool: { readonly needs: PluginNeeds; readonly made: Tool | readonly Tool[] };
  readonly hook: { readonly needs: PluginNeeds; readonly made: AnyHook | readonly AnyHook[] };
}

export interface PluginModule<Kind extends LoadedKind> {
  create(needs: PluginKinds[Kind]["needs"]): PluginKinds[Kind]["made"] | Promise<PluginKinds[Kind]["made"]>;
}

export type CreateProvider = PluginModule<"provider">["create"];
export type CreateChannel = PluginModule<"channel">["create"];
export type CreateTool = PluginModule<"tool">["create"];
export type CreateHook = PluginModule<"hook">["create"];
