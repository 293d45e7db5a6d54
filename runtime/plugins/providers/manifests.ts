import { anthropic } from "./anthropic/manifest.ts";
import { gemini } from "./gemini/manifest.ts";
import { offline } from "./offline/manifest.ts";
import { ollama } from "./ollama/manifest.ts";
import { openaiCompatible } from "./openai-compatible/manifest.ts";
import { xai } from "./xai/manifest.ts";

/** In the order in which a setup prefers their services. */
export const PROVIDERS = [anthropic, ollama, openaiCompatible, gemini, xai, offline] as const;
