import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatReply, Provider } from "../../../../runtime/contracts/provider.ts";
import type { FakeServer } from "../../../fakes/shared/server.ts";
import { APIS, failure, says } from "./support.ts";

/** Documented transcripts through the real SDKs: however the bytes arrive, the reply is the same. */

const HELLO = "Hello! A café, a stone 🪨, and a new\nline.";

interface Case {
  readonly file: string;
  readonly reply: Partial<ChatReply>;
  /** The first bytes of what ends the reply: a stream cut in front of its end is cut off. */
  readonly finalEvent: string;
}

const CASES: Readonly<Record<string, readonly Case[]>> = {
  anthropic: [
    {
      file: "anthropic-text.sse",
      finalEvent: "event: message_stop",
      reply: {
        text: HELLO,
        reasoning: "",
        toolCalls: [],
        stopReason: "end",
        usage: { inputTokens: 25, outputTokens: 15 },
      },
    },
    {
      file: "anthropic-thinking-tools.sse",
      finalEvent: "event: message_stop",
      reply: {
        text: "Let me look at both.",
        reasoning: "The user asks for two cities — so two calls 🌦.",
        toolCalls: [
          {
            id: "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
            name: "get_weather",
            arguments: { location: "San Francisco, CA", unit: "celsius" },
          },
          { id: "toolu_01A09q90qw90lq917835lq9", name: "get_weather", arguments: { location: "Zürich" } },
        ],
        stopReason: "tool_calls",
        model: "claude-opus-4-8",
        usage: { inputTokens: 2620, outputTokens: 89, cachedInputTokens: 2048 },
        state: {
          provider: "main",
          model: "claude-sonnet-4-6",
          data: {
            content: [
              {
                type: "thinking",
                thinking: "The user asks for two cities — so two calls 🌦.",
                signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+aBcD==",
              },
              { type: "text", text: "Let me look at both." },
              {
                type: "tool_use",
                id: "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
                name: "get_weather",
                input: { location: "San Francisco, CA", unit: "celsius" },
              },
              {
                type: "tool_use",
                id: "toolu_01A09q90qw90lq917835lq9",
                name: "get_weather",
                input: { location: "Zürich" },
              },
            ],
          },
        },
      },
    },
    {
      file: "anthropic-redacted-length.sse",
      finalEvent: "event: message_stop",
      reply: {
        text: "",
        toolCalls: [
          { id: "toolu_01NoArgs", name: "list_all", arguments: {} },
          { id: "toolu_01Broken", name: "note", arguments: { __invalid_json: '{"text": "cut of' } },
        ],
        stopReason: "length",
        usage: { inputTokens: 25, outputTokens: 64 },
      },
    },
  ],
  "openai-compatible": [
    {
      file: "openai-text.sse",
      finalEvent:
        'data: {"id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG", "object": "chat.completion.chunk", "created": 1741570283, "model": "gpt-4o-2024-08-06", "service_tier": "default", "system_fingerprint": "fp_fc9f1d7035", "choices": [{"index": 0, "delta": {},',
      reply: {
        text: HELLO,
        toolCalls: [],
        stopReason: "end",
        model: "gpt-4o-2024-08-06",
        usage: { inputTokens: 2006, outputTokens: 15, cachedInputTokens: 1920 },
      },
    },
    {
      file: "openai-tools.sse",
      finalEvent:
        'data: {"id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG", "object": "chat.completion.chunk", "created": 1741570283, "model": "gpt-4o-2024-08-06", "service_tier": "default", "system_fingerprint": "fp_fc9f1d7035", "choices": [{"index": 0, "delta": {},',
      reply: {
        text: "",
        toolCalls: [
          { id: "call_DdmO9pD3xa9XTPNJ32zg2hcA", name: "get_weather", arguments: { location: "San Francisco, CA" } },
          { id: "call_yDrxmnWCbOVQ3KbPVCHLKlRk", name: "get_weather", arguments: { location: "Zürich 🏔" } },
        ],
        stopReason: "tool_calls",
        usage: { inputTokens: 88, outputTokens: 42 },
      },
    },
    {
      file: "openai-local-reasoning.sse",
      finalEvent: 'data: {"choices": [{"finish_reason": "stop"',
      reply: {
        text: "One moment.",
        reasoning: "Okay, the user — 你好 — wants the time.",
        toolCalls: [{ id: "call_0", name: "clock", arguments: {} }],
        stopReason: "tool_calls",
        model: "qwen3-8b",
        usage: { inputTokens: 12, outputTokens: 31 },
      },
    },
    {
      file: "openai-gateway.sse",
      finalEvent:
        'data: {"id": "gen-1", "provider": "Fireworks", "model": "moonshotai/kimi-k2", "object": "chat.completion.chunk", "created": 1754000000, "choices": [{"finish_reason": "tool_calls"',
      reply: {
        reasoning: "Hm, two things.",
        toolCalls: [
          { id: "functions.read:0", name: "read", arguments: { path: "a" } },
          { id: "functions.read:1", name: "read", arguments: { __invalid_json: '{"path": "b"' } },
        ],
        stopReason: "tool_calls",
        model: "moonshotai/kimi-k2",
        state: {
          provider: "main",
          model: "fake-model",
          data: {
            reasoning: { field: "reasoning", text: "Hm, two things." },
            extras: [{ vendor: { signature: "c2ln" } }, null],
          },
        },
      },
    },
  ],
  gemini: [
    {
      file: "gemini-text.sse",
      finalEvent: 'data: {"candidates": [{"content": {"parts": [{"text": ", and a new',
      reply: {
        text: HELLO,
        toolCalls: [],
        stopReason: "end",
        model: "gemini-2.5-flash",
        usage: { inputTokens: 2050, outputTokens: 15, cachedInputTokens: 2032 },
      },
    },
    {
      file: "gemini-thinking-tools.sse",
      finalEvent: 'data: {"candidates": [{"content": {"parts": [{"text": ""}]',
      reply: {
        text: "Let me look at both.",
        reasoning: "**Two cities**\n\nSo two calls 🌦.",
        toolCalls: [
          { id: "8f2a1c", name: "get_weather", arguments: { location: "San Francisco, CA" } },
          { id: "9b3d2e", name: "get_weather", arguments: { location: "Zürich 🏔" } },
        ],
        stopReason: "tool_calls",
        usage: { inputTokens: 88, outputTokens: 88 },
        state: {
          provider: "main",
          model: "gemini-3.5-flash",
          data: {
            parts: [
              { text: "Let me look at both." },
              {
                functionCall: { name: "get_weather", args: { location: "San Francisco, CA" }, id: "8f2a1c" },
                thoughtSignature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+aBcD==",
              },
              { functionCall: { name: "get_weather", args: { location: "Zürich 🏔" }, id: "9b3d2e" } },
            ],
          },
        },
      },
    },
    {
      file: "gemini-blocked-length.sse",
      finalEvent: 'data: {"candidates": [{"index": 0, "finishReason"',
      reply: {
        toolCalls: [{ id: "call_0", name: "list_all", arguments: {} }],
        stopReason: "length",
        usage: { inputTokens: 25, outputTokens: 64 },
      },
    },
  ],
  xai: [
    {
      file: "xai-reasoning-tools.sse",
      finalEvent:
        'data: {"id": "6b1c7a0e-1d2f-9c3a-8f3e-2f6a7b8c9d0e", "object": "chat.completion.chunk", "created": 1775523905, "model": "grok-4.3", "choices": [{"index": 0, "delta": {}, "finish_reason"',
      reply: {
        text: "Let me look at both.",
        reasoning: "Two cities — two calls 🌦.",
        toolCalls: [
          { id: "call_19148798", name: "get_weather", arguments: { location: "San Francisco, CA" } },
          {
            id: "call_20264613",
            name: "get_weather",
            arguments: { __invalid_json: '{"location":"Zürich 🏔' },
          },
        ],
        stopReason: "tool_calls",
        usage: { inputTokens: 88, outputTokens: 136, cachedInputTokens: 64 },
      },
    },
  ],
  ollama: [
    {
      file: "ollama-text.ndjson",
      finalEvent:
        '{"model": "qwen3:8b", "created_at": "2026-05-27T22:54:58.100553Z", "message": {"role": "assistant", "content": ""}, "done_reason"',
      reply: { text: HELLO, toolCalls: [], stopReason: "end", usage: { inputTokens: 26, outputTokens: 15 } },
    },
    {
      file: "ollama-thinking-tools.ndjson",
      finalEvent:
        '{"model": "qwen3:8b", "created_at": "2026-05-27T22:54:58.100553Z", "message": {"role": "assistant", "content": ""}, "done_reason"',
      reply: {
        text: "Let me look at both.",
        reasoning: "Two cities — two calls 🌦.",
        toolCalls: [
          { id: "call_0", name: "get_weather", arguments: { location: "San Francisco, CA" } },
          { id: "call_h2k1", name: "get_weather", arguments: { location: "Zürich 🏔" } },
          { id: "call_2", name: "note", arguments: { __invalid_json: '{"text": "cut of' } },
        ],
        stopReason: "tool_calls",
        usage: { inputTokens: 169, outputTokens: 64 },
        state: { provider: "main", model: "qwen3:8b", data: { thinking: "Two cities — two calls 🌦." } },
      },
    },
    {
      file: "ollama-length.ndjson",
      finalEvent:
        '{"model": "qwen3:8b", "created_at": "2026-05-27T22:54:58.100553Z", "message": {"role": "assistant", "content": ""}, "done_reason"',
      reply: { text: "One mo", stopReason: "length", usage: { inputTokens: 12, outputTokens: 2 } },
    },
  ],
};

describe.each(APIS)("$name transcripts", (api) => {
  let fake: FakeServer;
  beforeAll(async () => {
    fake = await api.start();
  });
  afterAll(() => fake.close());

  /** Over a real socket, where the platform puts small pieces together as it likes. */
  const overSocket = (bytes: Uint8Array): Promise<ChatReply> => {
    fake.enqueue({ bytes: [bytes] });
    return chat(api.create({ baseUrl: fake.baseUrl }));
  };

  /** With a fetch that hands over exactly these pieces. */
  const inPieces = (pieces: readonly Uint8Array[]): Promise<ChatReply> => {
    const respond = () =>
      new Response(ReadableStream.from(pieces), { headers: { "content-type": "text/event-stream; charset=utf-8" } });
    return chat(api.create({ baseUrl: "http://unused.invalid", fetch: async () => respond() }));
  };

  describe.each(CASES[api.name] ?? [])("$file", ({ file, reply, finalEvent }) => {
    const whole = readFileSync(new URL(`../../../fixtures/wire/${file}`, import.meta.url));

    it("is read as documented", async () => {
      expect(await overSocket(whole)).toMatchObject(reply);
    });

    it("is the same with a cut at every byte", async () => {
      const single = Array.from(whole, (_, at) => whole.subarray(at, at + 1));
      expect(await inPieces(single)).toEqual(await overSocket(whole));
    });

    it("is the same in any pieces", async () => {
      const expected = await overSocket(whole);
      const cuts = fc.uniqueArray(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(cuts, async (at) => {
          const borders = [0, ...at.sort((a, b) => a - b), whole.length];
          const pieces = borders.slice(1).map((border, index) => whole.subarray(borders[index], border));
          expect(await inPieces(pieces)).toEqual(expected);
        }),
        { numRuns: 40 },
      );
    });

    it("is cut off, and never anything else, wherever it ends before its end", async () => {
      const end = whole.lastIndexOf(finalEvent);
      expect(end).toBeGreaterThan(0);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: end }), async (length) => {
          const error = await failure(overSocket(whole.subarray(0, length)));
          expect(error).toMatchObject({ code: "PROVIDER_STREAM_TRUNCATED" });
        }),
        { numRuns: 60 },
      );
    });
  });
});

async function chat(provider: Provider): Promise<ChatReply> {
  if (provider.chat === undefined) throw new Error("the provider has no chat");
  return provider.chat(says("hello"));
}
