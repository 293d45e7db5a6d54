/** A provider's manifest, and what a provider is made from. */

import type { Memory } from "../../contracts/memory.ts";
import type { PluginManifest } from "../../contracts/plugin.ts";
import type { Provider } from "../../contracts/provider.ts";
import type { ProviderSettings } from "./shared/settings.ts";

/** One entry of `providers.<id>`, with what providers may use of the node. */
export interface ProviderNeeds extends ProviderSettings {
  readonly memory: Memory;
  /** IANA name. */
  readonly timezone: string;
  /** Whether the node runs in a container of ours. Default false. */
  readonly inContainer?: boolean;
}

/** A service or a server that is known by name. */
export interface ProviderService {
  /** Id in cairn.yaml under which kind, address and key need not be written down; that of a kind is the kind's own service. */
  readonly id: string;
  /** `kind` in cairn.yaml. */
  readonly kind: string;
  /** Address of its API. */
  readonly baseUrl?: string;
  /** Variables that may hold its key, the usual one first. */
  readonly keyVariables?: readonly string[];
  /** Default of a setup; without one the setup does not offer it. */
  readonly model?: string;
  /** Runs on this machine: its name, and how its list of models is written. */
  readonly local?: { readonly name: string; readonly list: "ollama" | "openai" };
}

export interface ModelListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a subscription's login happens (OAuth). */
export interface ProviderLogin {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly scopes: readonly string[];
}

export interface ProviderManifest extends PluginManifest<"provider", ProviderNeeds, Provider> {
  /** The kinds of cairn.yaml that it serves. */
  readonly kinds: readonly string[];
  /** Tokens that its models can read at an address where the configuration does not say; absent: 128,000. */
  readonly contextWindow?: (baseUrl: string) => number | undefined;
  /** In the order in which a setup prefers them. */
  readonly services: readonly ProviderService[];
  /** By kind, for the kinds that have a subscription login. */
  readonly logins?: Readonly<Record<string, ProviderLogin>>;
  /** The request that lists the models below an address: it costs nothing, and wants the key. */
  readonly models?: (baseUrl: string, key: string | undefined) => ModelListRequest;
}
