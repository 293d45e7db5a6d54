import { inProcess } from "./in-process/manifest.ts";
import { ollama } from "./ollama/manifest.ts";
import { openaiCompatible } from "./openai-compatible/manifest.ts";

export const EMBEDDINGS = [openaiCompatible, ollama, inProcess] as const;
