import { expect, it } from "vitest";
import { createLearningRedactor } from "../../../runtime/config/redact.ts";
import type { Message } from "../../../runtime/contracts/message.ts";
import { redactPrompt } from "../../../runtime/domain/redaction.ts";

const TOKEN = 'cairn_"quoted"/0123456789';

it("takes a secret out of every place of a prompt, and leaves the rest", () => {
  const { redactValues } = createLearningRedactor([TOKEN, "postgres"]);
  const state = { provider: "p", model: "m", data: { signed: TOKEN } };
  const messages: Message[] = [
    { role: "user", content: `the token is ${TOKEN}, use postgres` },
    {
      role: "assistant",
      content: [
        { type: "text", text: `again ${encodeURIComponent(TOKEN)}` },
        { type: "image", mediaType: "image/png", data: "AAAA" },
      ],
      toolCalls: [
        {
          id: "1",
          name: "shell",
          arguments: { command: "x", [TOKEN]: 1, deep: [{ env: `T=${TOKEN}` }, 1, null, true] },
        },
      ],
      providerState: state,
    },
    { role: "tool", content: JSON.stringify({ token: TOKEN }), toolCallId: "1" },
    { role: "user", content: "nothing here" },
  ];
  const options = {
    system: `<file>${TOKEN}</file>`,
    context: `now: ${TOKEN}`,
    retrieved: `found: ${TOKEN}`,
    temperature: 1,
  };
  const redacted = redactPrompt({ messages, options }, redactValues);
  expect(redacted).toEqual({
    messages: [
      { role: "user", content: "the token is [redacted], use postgres" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "again [redacted]" },
          { type: "image", mediaType: "image/png", data: "AAAA" },
        ],
        toolCalls: [
          {
            id: "1",
            name: "shell",
            arguments: { command: "x", "[redacted]": 1, deep: [{ env: "T=[redacted]" }, 1, null, true] },
          },
        ],
        providerState: state,
      },
      { role: "tool", content: '{"token":"[redacted]"}', toolCallId: "1" },
      { role: "user", content: "nothing here" },
    ],
    options: {
      system: "<file>[redacted]</file>",
      context: "now: [redacted]",
      retrieved: "found: [redacted]",
      temperature: 1,
    },
  });
  expect(redacted.messages[3]).toBe(messages[3]);
});

it("copies nothing where there is no secret", () => {
  const messages: Message[] = [
    { role: "user", content: "x", toolCalls: [{ id: "1", name: "t", arguments: { a: [1] } }] },
  ];
  const options = { system: "s" };
  const { redactValues, hide } = createLearningRedactor([TOKEN]);
  const same = redactPrompt({ messages, options }, redactValues);
  expect(same.messages).toBe(messages);
  expect(same.options).toBe(options);
  hide(["a token of a login"]);
  expect(redactValues("has a token of a login")).toBe("has [redacted]");
});
