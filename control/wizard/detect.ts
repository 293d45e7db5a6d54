/** Which providers this machine can use: by the environment, and by local ports. Changes nothing. */
import { z } from "zod";
import type { Environment } from "../../runtime/config/index.ts";
import { type LocalServer, localServers, openaiGateway, SERVICES } from "./catalogue.ts";

/** A provider as it will stand in cairn.yaml. */
export interface ProviderChoice {
  readonly id: string;
  readonly kind: string;
  readonly model?: string;
  /** All models to talk to, where the server was asked for them. */
  readonly models?: readonly string[];
  readonly baseUrl?: string;
  /** Variable that holds the key. */
  readonly keyVariable?: string;
  readonly source: "environment" | "local" | "offline" | "answers";
  /** How it was found, as a sentence without its full stop. */
  readonly reason: string;
}

/** A model that turns texts into vectors, on a server of this machine, as it will stand in cairn.yaml. */
export interface EmbeddingChoice {
  readonly provider: "ollama" | "openai-compatible";
  readonly baseUrl: string;
  readonly model: string;
}

/** What the model servers of this machine offer. */
export interface DetectedServers {
  /** Those with a model to talk to, in the order of the list. */
  readonly servers: readonly ProviderChoice[];
  readonly embeddings: readonly EmbeddingChoice[];
  /** What listens and is of no use now, as sentences without their full stops: too slow, or without a model to talk to. */
  readonly unusable: readonly string[];
}

export interface DetectOptions {
  readonly env: Environment;
  readonly localServers?: readonly LocalServer[];
  /** Milliseconds that a local server has for its answer; default 3 s. Where nothing listens, the refusal comes at once. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export const OFFLINE: ProviderChoice = {
  id: "offline",
  kind: "offline",
  source: "offline",
  reason: "no API key in the environment and no local model server",
};

const ollamaList = z.object({ models: z.array(z.object({ name: z.string() })) });
const openaiList = z.object({ data: z.array(z.object({ id: z.string() })) });
/** Models that cannot hold a conversation, and those of them that make vectors. */
const NOT_FOR_CHAT = /embed|minilm|bge-|(?:^|[/-])e5-|rerank|whisper|tts/i;
const FOR_VECTORS = /embed|minilm|bge-(?!reranker)|(?:^|[/-])e5-/i;
/** A machine whose processors run a model is slow to answer. */
const ANSWER_TIMEOUT_MS = 3_000;
const MODEL_NAME = /^[\w][\w.:/@+-]{0,199}$/;

/** The first service whose key is in the environment. */
export function providerFromEnvironment(env: Environment): ProviderChoice | null {
  for (const service of SERVICES) {
    const keyVariable = service.keyVariables.find((variable) => env[variable]);
    if (keyVariable === undefined) continue;
    const { id, kind, model } = service;
    if (id === "openai" && openaiGateway(env) !== undefined) return gatewayChoice(env);
    const { baseUrl } = service;
    const reason = `${keyVariable} is set`;
    return { id, kind, model, ...(baseUrl ? { baseUrl } : {}), keyVariable, source: "environment", reason };
  }
  return null;
}

/** Never rejects. */
export async function detectServers(options: DetectOptions): Promise<DetectedServers> {
  const servers = options.localServers ?? localServers(options.env);
  const answers = await Promise.all(servers.map((server) => askServer(server, options)));
  return {
    servers: answers.flatMap(({ choice }) => choice ?? []),
    embeddings: answers.flatMap(({ embeddings }) => embeddings),
    unusable: answers.flatMap(({ unusable }) => unusable ?? []),
  };
}

/**
 * The server of OPENAI_BASE_URL, whether it answers or not: the key in the environment is for it, and must not go to the public
 * address. Null where the variable is not set. Never rejects.
 */
export async function detectGateway({ env, timeoutMs, signal }: DetectOptions): Promise<ProviderChoice | null> {
  const choice = gatewayChoice(env);
  if (choice?.baseUrl === undefined) return null;
  const key = choice.keyVariable === undefined ? undefined : env[choice.keyVariable];
  const deadline = AbortSignal.timeout(timeoutMs ?? ANSWER_TIMEOUT_MS);
  const names = await readModels(
    { modelsUrl: `${choice.baseUrl}/models`, list: "openai", ...(key ? { key } : {}) },
    signal ? AbortSignal.any([signal, deadline]) : deadline,
  ).catch(() => []);
  const models = names.filter((one) => !NOT_FOR_CHAT.test(one));
  const [model] = models;
  if (model === undefined) return choice;
  if (choice.model !== undefined && models.includes(choice.model)) return { ...choice, models };
  return { ...choice, model, models, reason: `${choice.reason}, which has ${model}` };
}

function gatewayChoice(env: Environment): ProviderChoice | null {
  const baseUrl = openaiGateway(env);
  const service = SERVICES.find(({ id }) => id === "openai");
  if (baseUrl === undefined || service === undefined) return null;
  const { id, kind, model, keyVariables } = service;
  const keyVariable = keyVariables.find((variable) => env[variable]);
  const reason = `OPENAI_BASE_URL is ${URL.parse(baseUrl)?.host ?? "no address"}`;
  return { id, kind, model, baseUrl, ...(keyVariable ? { keyVariable } : {}), source: "environment", reason };
}

interface ServerAnswer {
  readonly choice: ProviderChoice | null;
  readonly embeddings: readonly EmbeddingChoice[];
  readonly unusable: string | null;
}

const NOTHING: ServerAnswer = { choice: null, embeddings: [], unusable: null };

/** Whatever else is on that port, or nothing: there is no such server. One that listens and does not answer is slow. */
async function askServer(
  server: LocalServer,
  { timeoutMs = ANSWER_TIMEOUT_MS, signal }: DetectOptions,
): Promise<ServerAnswer> {
  const place = `${server.name} at ${new URL(server.modelsUrl).host}`;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return offer(server, await readModels(server, signal ? AbortSignal.any([signal, deadline]) : deadline));
  } catch {
    if (!deadline.aborted || signal?.aborted) return NOTHING;
    return { ...NOTHING, unusable: `${place} did not answer in ${timeoutMs / 1000} s` };
  }
}

interface ModelList extends Pick<LocalServer, "modelsUrl" | "list"> {
  readonly key?: string;
}

/** Names of its models. Rejects for what is no such server. */
async function readModels({ modelsUrl, list, key }: ModelList, signal: AbortSignal): Promise<string[]> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(modelsUrl, { headers, signal, redirect: "error" });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }
  const body: unknown = await response.json();
  const names =
    list === "ollama"
      ? ollamaList.parse(body).models.map(({ name }) => name)
      : openaiList.parse(body).data.map(({ id }) => id);
  return names.filter((name) => MODEL_NAME.test(name));
}

function offer({ id, name, modelsUrl, list, baseUrl }: LocalServer, names: readonly string[]): ServerAnswer {
  const { host, origin } = new URL(modelsUrl);
  const models = names.filter((one) => !NOT_FOR_CHAT.test(one));
  const embeddings = names
    .filter((one) => FOR_VECTORS.test(one))
    .map(
      (model): EmbeddingChoice =>
        // Each by the interface that the server has made for it.
        list === "ollama"
          ? { provider: "ollama", baseUrl: origin, model }
          : { provider: "openai-compatible", baseUrl, model },
    );
  const [model] = models;
  if (model === undefined) {
    const has = names.length === 0 ? "no model" : `no model to talk to, only ${names.join(", ")}`;
    return { choice: null, embeddings, unusable: `${name} at ${host} has ${has}` };
  }
  const reason = `${name} answers at ${host} and has ${model}`;
  const kind = list === "ollama" ? "ollama" : "openai-compatible";
  const choice = { id, kind, model, models, baseUrl, source: "local", reason } as const;
  return { choice, embeddings, unusable: null };
}
