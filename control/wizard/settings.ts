/**
 * The answers as settings of cairn.yaml, each with its place, and how they are put into a YAML document: everything else in it,
 * comments and unknown keys too, stays as it is. Pure.
 */

import { type Document, isMap, isScalar, isSeq } from "yaml";
import { deleteOwn, setOwn } from "../configuration/own-nodes.ts";
import type { Answers } from "./answers.ts";
import { settingFields } from "./channel-catalogue.ts";
import type { EmbeddingChoice, ProviderChoice } from "./detect.ts";
import { chosenProvider, furtherProvider } from "./provider.ts";

export interface Setting {
  /** `@name` is the entry of a list that is called so. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** Only there to be there: what it has already stays. */
  readonly entry?: boolean;
}

/** What the machine offers. */
export interface Offered {
  readonly providers: readonly ProviderChoice[];
  readonly embeddings: readonly EmbeddingChoice[];
}

/** In the order in which a new file has them. */
export function settingsOf(answers: Answers, { providers, embeddings }: Offered): Setting[] {
  const { listen, timezone, agents } = answers;
  const [first] = agents;
  return [
    ...optional(["runtime", "listen"], listen),
    ...optional(["runtime", "default_agent"], first?.name),
    ...optional(["runtime", "timezone"], timezone),
    ...agents.flatMap((agent) => agentSettings(answers, agent)),
    ...providerSettings(answers, providers),
    ...channelSettings(answers),
    ...memorySettings(answers),
    ...modelSettings(answers, { providers, embeddings }),
    ...deploymentSettings(answers),
  ];
}

function agentSettings({ provider: usual }: Answers, agent: Answers["agents"][number]): Setting[] {
  const at = (key: string): string[] => ["agents", agent.name, key];
  return [
    { path: ["agents", agent.name], value: {}, entry: true },
    ...optional(at("provider"), agent.provider ?? usual.id),
    ...optional(at("model"), agent.model),
    ...optional(at("default_thinking"), agent.thinking),
  ];
}

function providerSettings(answers: Answers, found: readonly ProviderChoice[]): Setting[] {
  const main = chosenProvider(answers, found);
  const others = new Map<string, ProviderChoice>();
  for (const { provider: id, model } of answers.agents)
    if (id !== undefined && id !== main.id && !others.has(id)) others.set(id, furtherProvider(id, model, found));
  return [...entrySettings(main), ...[...others.values()].map(wholeEntry)];
}

function entrySettings(choice: ProviderChoice): Setting[] {
  const at = (key: string): string[] => ["providers", choice.id, key];
  return Object.entries(providerEntry(choice)).map(([key, value]) => ({ path: at(key), value }));
}

/** Written only where the file does not have that provider yet. */
function wholeEntry(choice: ProviderChoice): Setting {
  return { path: ["providers", choice.id], value: providerEntry(choice), entry: true };
}

function providerEntry({ kind, model, baseUrl, keyVariable }: ProviderChoice): Record<string, string> {
  if (kind === "offline") return { kind };
  return {
    kind,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(model === undefined ? {} : { model }),
    ...(keyVariable === undefined ? {} : { api_key: reference(keyVariable) }),
  };
}

function channelSettings({ channels }: Answers): Setting[] {
  return channels.flatMap(({ id, token_variable, owner_id, bindings = {}, settings = {} }): Setting[] => [
    { path: ["channels", id], value: {}, entry: true },
    ...optional(["channels", id, "token"], token_variable === undefined ? undefined : reference(token_variable)),
    ...optional(["channels", id, "owner_id"], owner_id),
    ...optional(["channels", id, "channel_bindings"], Object.keys(bindings).length > 0 ? bindings : undefined),
    ...settingFields(id).flatMap(({ key, variable }) => {
      const value = settings[key];
      const written = value === undefined || variable === undefined ? value : reference(value);
      return optional(["channels", id, ...key.split(".")], written);
    }),
  ]);
}

/** Of the backend. */
export function memorySettings({ memory }: Pick<Answers, "memory">): Setting[] {
  if (memory === "embedded") return [{ path: ["memory", "embedded"], value: {} }];
  return [{ path: ["memory", "postgres"], value: { connection_string: reference("SERVICE_PG_URL") } }];
}

/** The models that work for the memory. */
function modelSettings(answers: Answers, { providers, embeddings }: Offered): Setting[] {
  const { model, base_url } = answers.embedding;
  const embedding: EmbeddingChoice | undefined =
    base_url === undefined
      ? embeddings.find((one) => one.model === model)
      : { provider: "openai-compatible", baseUrl: base_url, model: model ?? "" };
  const main = chosenProvider(answers, providers);
  const summarizer = answers.summaries === true && main.baseUrl !== undefined ? main : undefined;
  const at = (...path: string[]): string[] => ["memory", ...path];
  return [
    ...optional(at("embedding", "provider"), embedding?.provider),
    ...optional(at("embedding", "base_url"), embedding?.baseUrl),
    ...optional(at("embedding", "model"), embedding?.model),
    ...optional(at("summarizer", "base_url"), summarizer?.baseUrl),
    ...optional(at("summarizer", "model"), summarizer?.model),
  ];
}

function deploymentSettings({ deployment, memory }: Answers): Setting[] {
  const { target, name, docker, proxmox, kubernetes, nodes, publish, shared_storage } = deployment;
  const section = (key: string, values: Readonly<Record<string, unknown>>): Setting[] =>
    Object.entries(values).flatMap(([inner, value]) => optional(["deployment", key, inner], value));
  return [
    ...optional(["deployment", "name"], name),
    { path: ["deployment", "target"], value: target },
    ...section("docker", docker),
    ...section("proxmox", proxmox),
    ...section("kubernetes", kubernetes),
    ...nodes.flatMap(({ name: node, host, address, pve_node }): Setting[] => {
      const at = (key: string): string[] => ["deployment", "nodes", `@${node}`, key];
      return [
        { path: ["deployment", "nodes", `@${node}`], value: { name: node }, entry: true },
        ...optional(at("host"), host === (docker.host ?? "local") ? undefined : host),
        ...optional(at("address"), address === "dhcp" ? undefined : address),
        ...optional(at("pve_node"), pve_node),
      ];
    }),
    ...optional(["deployment", "datahub", "postgres"], memory === "datahub" ? true : undefined),
    ...optional(["deployment", "datahub", "publish"], publish),
    ...optional(["deployment", "datahub", "shared_storage"], shared_storage === true ? true : undefined),
  ];
}

function reference(variable: string): string {
  return `\${${variable}}`;
}

function optional(path: readonly string[], value: unknown): Setting[] {
  return value === undefined ? [] : [{ path, value }];
}

/** What the settings `after` say otherwise than `before`; the rest of the document is not touched. */
export function applyChanges(document: Document, before: readonly Setting[], after: readonly Setting[]): void {
  const former = new Map(before.map((setting) => [setting.path.join("\0"), setting]));
  const wanted = new Set(after.map(({ path }) => path.join("\0")));
  for (const setting of after) {
    const previous = former.get(setting.path.join("\0"));
    if (previous !== undefined && JSON.stringify(previous.value) === JSON.stringify(setting.value)) continue;
    applySetting(document, setting);
    if (setting.path.length === 2 && setting.path[0] === "channels") switchOn(document, setting.path);
  }
  for (const { path } of before) {
    // An entry of its own: a provider that is not used any more may be wanted again.
    if (!wanted.has(path.join("\0")) && path[0] !== "providers") removeAt(document, path);
  }
}

export function applySetting(document: Document, { path, value, entry }: Setting): void {
  const found = resolved(document, path);
  if (entry === true && found !== null && document.hasIn(found)) return;
  makeRoom(document, path);
  setOwn(
    document,
    resolved(document, path) ?? [...path.slice(0, -1), lengthAt(document, path.slice(0, -1))],
    nodeOf(document, value),
  );
}

/** A channel that is chosen and that the file has switched off. */
function switchOn(document: Document, path: readonly string[]): void {
  const flag = [...path, "enabled"];
  if (document.getIn(flag) === false) setOwn(document, flag, true);
}

function removeAt(document: Document, path: readonly string[]): void {
  const found = resolved(document, path);
  if (found !== null && document.hasIn(found)) deleteOwn(document, found);
}

/** The path with the places of list entries; null where such an entry is not there. */
function resolved(document: Document, path: readonly string[]): (string | number)[] | null {
  const found: (string | number)[] = [];
  for (const part of path) {
    if (!part.startsWith("@")) {
      found.push(part);
      continue;
    }
    const list = document.getIn(found);
    const index = isSeq(list) ? list.items.findIndex((item) => isMap(item) && item.get("name") === part.slice(1)) : -1;
    if (index < 0) return null;
    found.push(index);
  }
  return found;
}

/** Collections on the way: an empty one (`{}`, or nothing behind the colon) becomes one of the usual form. */
function makeRoom(document: Document, path: readonly string[]): void {
  for (let length = 1; length < path.length; length += 1) {
    const parent = resolved(document, path.slice(0, length));
    if (parent === null) return;
    const list = path[length]?.startsWith("@") === true;
    const node = document.getIn(parent, true);
    if (node === undefined || node === null || (isScalar(node) && node.value === null)) {
      setOwn(document, parent, document.createNode(list ? [] : {}));
    } else if ((isMap(node) || isSeq(node)) && node.items.length === 0) node.flow = false;
  }
}

function lengthAt(document: Document, path: readonly string[]): number {
  const list = document.getIn(resolved(document, path) ?? [...path]);
  return isSeq(list) ? list.items.length : 0;
}

function nodeOf(document: Document, value: unknown): unknown {
  return typeof value === "object" && value !== null ? document.createNode(value) : value;
}
