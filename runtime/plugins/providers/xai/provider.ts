import type OpenAI from "openai";
import type { Failure } from "../../shared/model-http/failure.ts";
import { OpenAiCompatibleProvider } from "../openai-compatible/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readRefusal } from "./errors.ts";
import { XAI_REASONING } from "./thinking.ts";

const XAI_URL = "https://api.x.ai/v1";
const IMAGE_TYPES = ["image/jpeg", "image/png"];

/** Grok models through xAI's chat completions, which differ from OpenAI's in how they think and in how a key is refused. */
export class XaiProvider extends OpenAiCompatibleProvider {
  constructor(settings: ProviderSettings) {
    super(settings, { name: "xAI", home: XAI_URL, reasoning: XAI_REASONING, imageTypes: IMAGE_TYPES });
  }

  protected override readError(error: unknown, sdk: typeof OpenAI, watch: Watch, timeoutMs: number): Failure {
    return readRefusal(super.readError(error, sdk, watch, timeoutMs));
  }
}
