import { anthropic } from "./anthropic/manifest.ts";
import { offline } from "./offline/manifest.ts";
import { openaiCompatible } from "./openai-compatible/manifest.ts";

/** In the order in which a setup prefers their services. */
export const PROVIDERS = [anthropic, openaiCompatible, offline] as const;
