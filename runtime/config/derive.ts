/** Derives one part of the file from another: kinds from ids, usual variables, the only agent. Pure. */
import { contextWindowOfKind, keyVariable, knownChannelKind, knownProvider } from "./known-ids.ts";
import type { Environment } from "./references.ts";
import { isMap, mapAt, type Tree, type TreeMap, withValue } from "./tree.ts";

/** A name that the schema may accept; any other is reported there. */
const STACK_NAME = /^[a-z0-9-]+$/;

export interface DeriveInput {
  readonly env: Environment;
  /** Name of this machine. */
  readonly hostname: string;
}

/** The tree with derived values filled in where the file has none. What is written always stays. */
export function derive(tree: TreeMap, input: DeriveInput): TreeMap {
  return [deriveProviders, deriveChannels, deriveAgents, deriveMemory, deriveNode].reduce(
    (current, step) => step(current, input),
    tree,
  );
}

/** A DNS label made of any host name. */
export function nodeNameOf(hostname: string): string {
  const [first = ""] = hostname.toLowerCase().split(".");
  const label = first
    .replace(/[^a-z0-9-]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
  return label === "" ? "node" : label;
}

function deriveProviders(tree: TreeMap): TreeMap {
  return eachEntry(tree, "providers", (id, provider) => {
    const preset = knownProvider(id);
    const kind = provider["kind"] ?? preset?.kind;
    if (typeof kind !== "string") return provider;
    const fromId = preset?.kind === kind ? preset.baseUrl : undefined;
    const baseUrl = provider["base_url"] ?? fromId;
    // With a login there is no key, and one that happens to be in the environment must not replace the login.
    const keyless = provider["base_url"] !== undefined || provider["login"] !== undefined;
    const variable = keyless ? null : keyVariable(kind, fromId);
    const contextWindow = contextWindowOfKind(kind, typeof baseUrl === "string" ? baseUrl : "");
    return {
      ...(kind === "offline" ? { model: "offline" } : {}),
      ...(variable === null ? {} : { api_key: `\${${variable}}` }),
      ...(contextWindow === undefined ? {} : { context_window: contextWindow }),
      ...provider,
      kind,
      ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    };
  });
}

function deriveChannels(tree: TreeMap): TreeMap {
  const channels = tree["channels"] ?? {};
  if (!isMap(channels)) return tree;
  const complete = Object.hasOwn(channels, "agent") ? channels : { ...channels, agent: {} };
  return eachEntry({ ...tree, channels: complete }, "channels", (id, channel) => {
    const kind = channel["kind"] ?? knownChannelKind(id);
    return kind === undefined ? channel : { ...channel, kind };
  });
}

function deriveAgents(tree: TreeMap): TreeMap {
  const providers = Object.keys(mapAt(tree, "providers"));
  const [onlyProvider] = providers;
  const named = eachEntry(tree, "agents", (_name, agent) =>
    agent["provider"] === undefined && onlyProvider !== undefined && providers.length === 1
      ? { ...agent, provider: onlyProvider }
      : agent,
  );
  if (!canFill(named, "runtime") || mapAt(named, "runtime")["default_agent"] !== undefined) return named;
  const agents = Object.keys(mapAt(named, "agents"));
  const chosen = agents.length === 1 ? agents[0] : agents.find((name) => name === "main");
  return chosen === undefined ? named : withValue(named, ["runtime", "default_agent"], chosen);
}

function deriveMemory(tree: TreeMap, { env }: DeriveInput): TreeMap {
  const deployed = deployedDatabase(tree);
  const postgres = mapAt(tree, "memory")["postgres"] ?? (deployed === null || usesEmbedded(tree) ? undefined : {});
  if (!isMap(postgres) || !canFill(tree, "memory")) return tree;
  const url = deployed === null || env["SERVICE_PG_URL"] ? "${SERVICE_PG_URL}" : deployed;
  return withValue(tree, ["memory", "postgres"], {
    connection_string: url,
    ...(env["SERVICE_PG_DIRECT_URL"] ? { direct_url: "${SERVICE_PG_DIRECT_URL}" } : {}),
    ...postgres,
    // Deployed nodes get the address as a variable; elsewhere it is not set, and is needed only to open the store.
    ...(deployed !== null && postgres["connection_string"] === "${SERVICE_PG_URL}" ? { connection_string: url } : {}),
  });
}

/** Address of the database that `infra up` makes, within its network and without its password; null without one. */
function deployedDatabase(tree: TreeMap): string | null {
  const { target, name } = mapAt(tree, "deployment");
  const asked = mapAt(tree, "deployment", "datahub")["postgres"];
  if (target === undefined || target === "manual" || !isOn(asked)) return null;
  const stack = typeof name === "string" && STACK_NAME.test(name) ? name : "cairn";
  return `postgresql://cairn@${stack}-postgres:5432/cairn`;
}

function usesEmbedded(tree: TreeMap): boolean {
  return mapAt(tree, "memory")["embedded"] !== undefined;
}

function isOn(value: Tree | undefined): boolean {
  return value === true || (typeof value === "string" && /^(true|on|yes)$/i.test(value));
}

function deriveNode(tree: TreeMap, { env, hostname }: DeriveInput): TreeMap {
  const listen = env["SERVICE_LISTEN"];
  const named =
    canFill(tree, "mesh") && mapAt(tree, "mesh")["name"] === undefined
      ? withValue(tree, ["mesh", "name"], nodeNameOf(hostname))
      : tree;
  return listen && canFill(named, "runtime") ? withValue(named, ["runtime", "listen"], listen) : named;
}

/** A section of the wrong type is not changed: the schema reports it. */
function canFill(tree: TreeMap, key: string): boolean {
  return tree[key] === undefined || isMap(tree[key]);
}

function eachEntry(tree: TreeMap, key: string, change: (name: string, entry: TreeMap) => TreeMap): TreeMap {
  const entries = tree[key];
  if (!isMap(entries)) return tree;
  const changed = Object.entries(entries).map(([name, entry]): [string, Tree] => [
    name,
    isMap(entry) ? change(name, entry) : entry,
  ]);
  return { ...tree, [key]: Object.fromEntries(changed) };
}
