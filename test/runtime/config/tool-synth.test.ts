import { describe, expect, it } from "vitest";
import { toolSynth } from "../../../runtime/config/index.ts";

const summarizer = { base_url: "http://127.0.0.1:11434/v1", model: "qwen3", api_key: "key-of-the-summarizer" };
const none = { base_url: undefined, model: undefined, api_key: undefined };

describe("the model of tool-call sentences", () => {
  it.each([
    ["nothing set", none, {}, null],
    [
      "the summarizer's",
      summarizer,
      {},
      { path: "memory.summarizer", model: "qwen3", apiKey: "key-of-the-summarizer" },
    ],
    [
      "another model there",
      summarizer,
      { TOOL_SYNTH_MODEL: "tiny" },
      { model: "tiny", apiKey: "key-of-the-summarizer" },
    ],
    [
      "an endpoint of its own, which never sees the summarizer's key",
      summarizer,
      { TOOL_SYNTH_ENDPOINT: "https://llm.example/api/v1/", TOOL_SYNTH_MODEL: "m" },
      { path: "TOOL_SYNTH_ENDPOINT", baseUrl: "https://llm.example/api/v1", model: "m" },
    ],
    [
      "its own key",
      none,
      { TOOL_SYNTH_ENDPOINT: "http://h:8080", TOOL_SYNTH_MODEL: "m", TOOL_SYNTH_API_KEY: "k" },
      { baseUrl: "http://h:8080/v1", apiKey: "k" },
    ],
    [
      "the address of the route",
      none,
      { TOOL_SYNTH_ENDPOINT: "http://h/v1/chat/completions", TOOL_SYNTH_MODEL: "m" },
      { baseUrl: "http://h/v1" },
    ],
    ["the summarizer's model elsewhere", summarizer, { TOOL_SYNTH_ENDPOINT: "http://h" }, { model: "qwen3" }],
    ["an empty variable", summarizer, { TOOL_SYNTH_ENDPOINT: "", TOOL_SYNTH_MODEL: " " }, { model: "qwen3" }],
    ["no model", none, { TOOL_SYNTH_ENDPOINT: "http://h" }, null],
    ["no address", summarizer, { TOOL_SYNTH_ENDPOINT: "localhost:1234" }, null],
  ])("%s", (_name, given, env, expected) => {
    const { endpoint } = toolSynth(given, env);
    if (expected === null) expect(endpoint).toBeNull();
    else expect(endpoint).toMatchObject(expected);
    if (endpoint !== null && expected !== null && !("apiKey" in expected) && endpoint.baseUrl !== summarizer.base_url)
      expect(endpoint.apiKey).toBeUndefined();
  });
});
