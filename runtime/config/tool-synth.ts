/** Which model writes the sentences of tool calls: TOOL_SYNTH_* in the environment, else `memory.summarizer`. Pure. */

import type { Config } from "./config.ts";
import type { Environment } from "./references.ts";

export interface ToolSynthEndpoint {
  /** Where it is configured: a variable or a key. */
  readonly path: "TOOL_SYNTH_ENDPOINT" | "memory.summarizer";
  /** The API's base address, without `/chat/completions`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string;
}

export type ToolSynth =
  | { readonly endpoint: ToolSynthEndpoint }
  /** `reason` is a sentence; `wrong` where something is set that cannot work. */
  | { readonly endpoint: null; readonly reason: string; readonly wrong: boolean };

type Summarizer = Pick<Config["memory"]["summarizer"], "base_url" | "model" | "api_key">;

/**
 * Each variable alone overrides its half of `memory.summarizer`. The summarizer's key goes to the summarizer's own server
 * and to no other; TOOL_SYNTH_API_KEY is for the endpoint that the variable names.
 */
export function toolSynth(summarizer: Summarizer, env: Environment): ToolSynth {
  const given = env["TOOL_SYNTH_ENDPOINT"]?.trim();
  const baseUrl = given ? baseOf(given) : (summarizer.base_url ?? null);
  if (baseUrl === null) {
    if (given) return off("TOOL_SYNTH_ENDPOINT is no address that begins with http:// or https://.", true);
    return off("Neither TOOL_SYNTH_ENDPOINT nor memory.summarizer.base_url is set.", false);
  }
  const model = env["TOOL_SYNTH_MODEL"]?.trim() || summarizer.model;
  if (model === undefined) return off("TOOL_SYNTH_ENDPOINT is set, and TOOL_SYNTH_MODEL is not.", true);
  const apiKey = keyFor(baseUrl, summarizer, env);
  const path = given ? "TOOL_SYNTH_ENDPOINT" : "memory.summarizer";
  return { endpoint: { path, baseUrl, model, ...(apiKey ? { apiKey } : {}) } };
}

function off(reason: string, wrong: boolean): ToolSynth {
  return { endpoint: null, reason, wrong };
}

/** The whole address of the route is taken too, and a server's bare address means its `/v1`. */
function baseOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const path = url.pathname.replace(/\/+$/, "").replace(/\/chat\/completions$/, "");
  return `${url.protocol}//${url.username ? `${url.username}:${url.password}@` : ""}${url.host}${path || "/v1"}${url.search}`;
}

function keyFor(baseUrl: string, { base_url: own, api_key: key }: Summarizer, env: Environment): string | undefined {
  const given = env["TOOL_SYNTH_API_KEY"]?.trim();
  if (given && env["TOOL_SYNTH_ENDPOINT"]?.trim()) return given;
  return own !== undefined && URL.parse(own)?.origin === URL.parse(baseUrl)?.origin ? key : undefined;
}
