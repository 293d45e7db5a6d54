import { describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatOptions } from "../../../../../runtime/contracts/provider.ts";
import { type RequestContext, toRequest } from "../../../../../runtime/plugins/providers/gemini/request.ts";

const request = (messages: readonly Message[], options: ChatOptions = {}, context: Partial<RequestContext> = {}) =>
  toRequest(messages, options, { provider: "main", model: "gemini-3.5-flash", quirks: new Set(), ...context });

const user = (content: Message["content"]): Message => ({ role: "user", content });

describe("the contents", () => {
  it("have lasting system text in the instruction, and what changes with the turn in front of the newest message", () => {
    const { contents, config } = request(
      [user("one"), { role: "assistant", content: "two" }, { role: "system", content: "Hurry." }, user("three")],
      { system: "You are Cairn.", context: "It is noon.", retrieved: "<memory>tea</memory>" },
    );
    expect(config?.systemInstruction).toEqual({ parts: [{ text: "You are Cairn." }] });
    expect(contents).toEqual([
      { role: "user", parts: [{ text: "one" }] },
      { role: "model", parts: [{ text: "two" }] },
      {
        role: "user",
        parts: [
          { text: "[System message]\nHurry." },
          { text: "[System message]\nIt is noon." },
          { text: "<memory>tea</memory>" },
          { text: "three" },
        ],
      },
    ]);
  });

  it("begin with the same bytes up to the newest message, whatever the time is, also for models without an instruction", () => {
    const asked = [user("one"), { role: "assistant", content: "two" } as const, user("three")];
    const at = (context: string, quirks: RequestContext["quirks"]) =>
      JSON.stringify(request(asked, { system: "You are Cairn.", context }, { quirks }));
    for (const quirks of [new Set<never>(), new Set(["no-system-instruction"] as const)]) {
      const [noon, later] = [at("It is noon.", quirks), at("It is one.", quirks)];
      const same = [...noon].findIndex((character, index) => character !== later[index]);
      expect(noon.slice(0, same)).toContain('"two"');
    }
  });

  it("have what changes in the instruction where there is no message of the user", () => {
    const { config } = request([{ role: "assistant", content: "two" }], {
      system: "You are Cairn.",
      context: "It is noon.",
    });
    expect(config?.systemInstruction).toEqual({ parts: [{ text: "You are Cairn." }, { text: "It is noon." }] });
  });

  it("carry images, those of tool results behind the results, and words for those that no model sees", () => {
    const image = (mediaType: string) => ({ type: "image" as const, mediaType, data: "AAAA" });
    const { contents } = request([
      user([{ type: "text", text: "see" }, image("image/PNG"), image("image/gif")]),
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "shot", arguments: {} }] },
      { role: "tool", toolCallId: "c1", content: [image("image/png")], isError: true },
    ]);
    const part = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    expect(contents).toMatchObject([
      { parts: [{ text: "see" }, part, { text: "[An image of type image/gif that the model cannot see]" }] },
      { parts: [{ functionCall: { name: "shot", args: {} } }] },
      {
        parts: [
          { functionResponse: { name: "shot", response: { error: "(1 image(s), shown below)" } } },
          { text: "Images from the tool results above:" },
          part,
        ],
      },
    ]);
  });

  it("begin and end with the user's words, as the API requires", () => {
    const { contents } = request([{ role: "assistant", content: "two" }]);
    expect(contents).toMatchObject([{ role: "user" }, { role: "model" }, { role: "user" }]);
  });
});

describe("the limit of the answer", () => {
  it("has room for thinking on top, up to what models can write", () => {
    const limit = (maxTokens: number | undefined, model: string, thinking?: "off" | "high") =>
      request([user("hi")], { ...(maxTokens ? { maxTokens } : {}), ...(thinking ? { thinking } : {}) }, { model })
        .config?.maxOutputTokens;
    expect(limit(undefined, "gemini-3.5-flash", "high")).toBeUndefined();
    expect(limit(100, "gemini-2.0-flash", "high")).toBe(100);
    expect(limit(100, "gemini-2.5-flash", "off")).toBe(100);
    expect(limit(100, "gemini-3.5-flash", "high")).toBe(24_676);
    expect(limit(60_000, "gemini-3.5-flash", "high")).toBe(65_536);
  });
});
