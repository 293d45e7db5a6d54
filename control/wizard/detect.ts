/** Which providers this machine can use: by the environment, and by local ports. Changes nothing. */
import { z } from "zod";
import type { Environment } from "../../runtime/config/index.ts";
import { type LocalServer, localServers, SERVICES } from "./catalogue.ts";

/** A provider as it will stand in cairn.yaml. */
export interface ProviderChoice {
  readonly id: string;
  readonly kind: string;
  readonly model?: string;
  readonly baseUrl?: string;
  /** Variable that holds the key. */
  readonly keyVariable?: string;
  readonly source: "environment" | "local" | "offline" | "answers";
  /** How it was found, as a sentence without its full stop. */
  readonly reason: string;
}

export interface DetectOptions {
  readonly env: Environment;
  readonly localServers?: readonly LocalServer[];
  /** Milliseconds that a local server has for its answer; default 400. */
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
/** Models that cannot hold a conversation. */
const NOT_FOR_CHAT = /embed|minilm|bge-|(?:^|[/-])e5-|rerank|whisper|tts/i;
const MODEL_NAME = /^[\w][\w.:/@+-]{0,199}$/;

/** The first service whose key is in the environment. */
export function providerFromEnvironment(env: Environment): ProviderChoice | null {
  for (const service of SERVICES) {
    const keyVariable = service.keyVariables.find((variable) => env[variable]);
    if (keyVariable === undefined) continue;
    const { id, kind, model, baseUrl } = service;
    const reason = `${keyVariable} is set`;
    return { id, kind, model, ...(baseUrl ? { baseUrl } : {}), keyVariable, source: "environment", reason };
  }
  return null;
}

/** Local model servers that answer and have a model to talk to, in the order of the list. Never rejects. */
export async function detectServers(options: DetectOptions): Promise<ProviderChoice[]> {
  const servers = options.localServers ?? localServers(options.env);
  const found = await Promise.all(servers.map((server) => askServer(server, options)));
  return found.filter((choice) => choice !== null);
}

/** Null when nothing answers there in time, or what answers has no model to talk to. */
async function askServer(
  server: LocalServer,
  { timeoutMs = 400, signal }: DetectOptions,
): Promise<ProviderChoice | null> {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(server.modelsUrl, {
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      redirect: "error",
    });
    if (!response.ok) {
      await response.body?.cancel();
      return null;
    }
    const body: unknown = await response.json();
    const models =
      server.list === "ollama"
        ? ollamaList.parse(body).models.map(({ name }) => name)
        : openaiList.parse(body).data.map(({ id }) => id);
    const model = models.find((name) => MODEL_NAME.test(name) && !NOT_FOR_CHAT.test(name));
    if (model === undefined) return null;
    const reason = `${server.name} answers at ${new URL(server.modelsUrl).host} and has ${model}`;
    return { id: server.id, kind: "openai-compatible", model, baseUrl: server.baseUrl, source: "local", reason };
  } catch {
    // Nothing there, too slow, or something else on that port: all mean that there is no local model server.
    return null;
  }
}
