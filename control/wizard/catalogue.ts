/** The services and local servers that a setup knows by name: where they are, whose key they want, what to ask them for. */
import type { Environment } from "../../runtime/config/index.ts";

export interface CatalogueEntry {
  readonly id: string;
  readonly kind: "anthropic" | "openai-compatible";
  readonly baseUrl?: string;
  /** Variables that may hold the key, the usual one first. */
  readonly keyVariables: readonly string[];
  readonly model: string;
}

/** In order of preference: the first one whose key is in the environment is taken. */
export const SERVICES: readonly CatalogueEntry[] = [
  { id: "anthropic", kind: "anthropic", keyVariables: ["ANTHROPIC_API_KEY"], model: "claude-sonnet-5-5" },
  {
    id: "openai",
    kind: "openai-compatible",
    baseUrl: "https://api.openai.com/v1",
    keyVariables: ["OPENAI_API_KEY"],
    model: "gpt-5.5",
  },
  {
    id: "gemini",
    kind: "openai-compatible",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    model: "gemini-flash-latest",
  },
  {
    id: "xai",
    kind: "openai-compatible",
    baseUrl: "https://api.x.ai/v1",
    keyVariables: ["XAI_API_KEY"],
    model: "grok-4",
  },
  {
    id: "openrouter",
    kind: "openai-compatible",
    baseUrl: "https://openrouter.ai/api/v1",
    keyVariables: ["OPENROUTER_API_KEY"],
    model: "openrouter/auto",
  },
  {
    id: "mistral",
    kind: "openai-compatible",
    baseUrl: "https://api.mistral.ai/v1",
    keyVariables: ["MISTRAL_API_KEY"],
    model: "mistral-large-latest",
  },
  {
    id: "deepseek",
    kind: "openai-compatible",
    baseUrl: "https://api.deepseek.com/v1",
    keyVariables: ["DEEPSEEK_API_KEY"],
    model: "deepseek-chat",
  },
  {
    id: "groq",
    kind: "openai-compatible",
    baseUrl: "https://api.groq.com/openai/v1",
    keyVariables: ["GROQ_API_KEY"],
    model: "llama-3.3-70b-versatile",
  },
];

export interface LocalServer {
  readonly id: string;
  readonly name: string;
  /** Where its list of models is, and how the list is written. */
  readonly modelsUrl: string;
  readonly list: "ollama" | "openai";
  /** Its OpenAI-compatible API. */
  readonly baseUrl: string;
}

/** Local model servers on their usual ports; OLLAMA_HOST says where Ollama is instead, as it does for Ollama itself. */
export function localServers(env: Environment): LocalServer[] {
  return [
    localServer("ollama", "Ollama", ollamaOrigin(env["OLLAMA_HOST"]), "ollama"),
    localServer("lmstudio", "LM Studio", "http://127.0.0.1:1234", "openai"),
  ];
}

export function localServer(id: string, name: string, origin: string, list: LocalServer["list"]): LocalServer {
  const modelsUrl = list === "ollama" ? `${origin}/api/tags` : `${origin}/v1/models`;
  return { id, name, modelsUrl, list, baseUrl: `${origin}/v1` };
}

function ollamaOrigin(host: string | undefined): string {
  const usual = "http://127.0.0.1:11434";
  if (!host) return usual;
  const parsed = URL.parse(/^https?:\/\//.test(host) ? host : `http://${host}`);
  if (!parsed) return usual;
  // For the server the variable is where it listens: on all addresses means on this machine's own, too.
  if (parsed.hostname === "0.0.0.0" || parsed.hostname === "[::]") parsed.hostname = "127.0.0.1";
  const written = /:\d+\/?$/.test(host);
  if (parsed.port === "" && !written && !/^https?:/.test(host)) parsed.port = "11434";
  return parsed.origin;
}
