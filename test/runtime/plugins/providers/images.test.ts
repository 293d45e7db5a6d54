import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ImagePart, Message } from "../../../../runtime/contracts/message.ts";
import type { FakeServer } from "../../../fakes/shared/server.ts";
import { APIS, chunks, says, textIn } from "./support.ts";

/** Images of every type, of users and of tools: a sentence takes the place of what a service does not take, and no turn ends. */

const TAKEN: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["image/jpeg", "image/png", "image/gif", "image/webp"],
  "openai-compatible": ["image/jpeg", "image/png", "image/gif", "image/webp"],
  gemini: ["image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"],
  xai: ["image/jpeg", "image/png"],
  ollama: ["image/jpeg", "image/png", "image/webp"],
};

/** The first bytes of a file of each type. */
const FILES: Readonly<Record<string, string>> = {
  "image/png": "iVBORw0KGgo=",
  "image/jpeg": "/9j/4AAQSkZJRg==",
  "image/webp": "UklGRiQAAABXRUJQVlA4",
  "image/gif": "R0lGODlhAQABAAAA",
  "image/heic": "AAAAGGZ0eXBoZWlj",
  "image/heif": "AAAAGGZ0eXBtaWYx",
  "image/tiff": "SUkqAAgAAAA=",
  "image/bmp": "Qk06AAAAAAAAADYA",
  "image/svg+xml": "PHN2Zz48L3N2Zz4=",
};

describe.each(APIS)("$name", (api) => {
  let fake: FakeServer;
  beforeEach(async () => {
    fake = await api.start();
  });
  afterEach(() => fake.close());

  it.each(Object.entries(FILES))("answers beside an image of type %s", async (mediaType, data) => {
    const image: ImagePart = { type: "image", mediaType, data };
    const tools = [{ name: "shot", description: "Takes a picture.", parameters: {} }];
    const provider = api.create({ baseUrl: fake.baseUrl });
    fake.enqueue({ toolCalls: [{ name: "shot" }] });
    const first = await chunks(provider, says("hello"), { tools });
    const calls = first.flatMap((chunk) => (chunk.type === "tool_call" ? [chunk.call] : []));
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "see" }, image] },
      { role: "assistant", content: "", toolCalls: calls },
      ...calls.map(({ id }): Message => ({ role: "tool", toolCallId: id, content: [image] })),
    ];
    fake.enqueue({ text: "fine" });
    expect(textIn(await chunks(provider, messages, { tools }))).toBe("fine");
    const body = JSON.stringify(fake.requests.at(-1)?.body);
    const isTaken = TAKEN[api.name]?.includes(mediaType) ?? false;
    // Of the user's message and of the result.
    expect(body.split(data).length - 1).toBe(isTaken ? 2 : 0);
    expect(body.split(`[An image of type ${mediaType} that the model cannot see]`).length - 1).toBe(isTaken ? 0 : 2);
  });
});
