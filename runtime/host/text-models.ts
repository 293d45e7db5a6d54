/** From an endpoint in the configuration to the model that writes texts about memory. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../contracts/ports.ts";
import type { TextModel } from "../contracts/text-model.ts";
import { createOpenaiCompatibleProvider } from "../plugins/providers/openai-compatible/index.ts";
import { createChatCompletionsTextModel } from "../plugins/text-models/chat-completions/index.ts";

export interface TextModelEndpoint {
  /** Names the model in messages, and in hints its place in the configuration: `memory.summarizer`. */
  readonly path: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
}

/** As long as a timer can be set: a request ends by its signal alone (specification, "Memory-quality pipeline"). */
const NO_DEADLINE_MS = 2_147_483_647;

export function createTextModel({ path, baseUrl, ...endpoint }: TextModelEndpoint, logger: Logger): TextModel {
  const provider = createOpenaiCompatibleProvider({
    ...endpoint,
    baseUrl: apiOf(baseUrl),
    id: path,
    path,
    // Its pauses are the text model's own.
    maxRetries: 0,
    timeoutMs: NO_DEADLINE_MS,
    logger,
  });
  return createChatCompletionsTextModel({
    provider,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    logger,
  });
}

/** A server's bare address means its `/v1`. */
function apiOf(address: string): string {
  const url = URL.parse(address);
  return url !== null && url.pathname === "/" && url.search === "" ? `${url.href.replace(/\/$/, "")}/v1` : address;
}
