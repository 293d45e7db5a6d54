import assert from "node:assert/strict";
import { asks, type CheckDefinition, endOf, read, textIn } from "../support.ts";

/** What a reply is made of, and what a request holds. */

/** A picture of one dot. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
const TEXT = ["Hello ", "café ", "🪨 ", "and ", "goodbye."];

export const REPLY_CHECKS: readonly CheckDefinition[] = [
  {
    name: "has an id, a name, and a default model that can be changed",
    needs: [],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      assert.notEqual(provider.id, "", "the id must not be empty");
      assert.notEqual(provider.name, "", "the name must not be empty");
      assert.notEqual(provider.getModel(), "", "the default model must not be empty");
      provider.setModel("another-model");
      assert.equal(provider.getModel(), "another-model", "getModel after setModel");
    },
  },
  {
    name: "ends a reply with exactly one end chunk, which has a reason, counts and a model",
    needs: [],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      const chunks = await read(provider, asks("hello"));
      const { stopReason, usage, model } = endOf(chunks);
      assert.equal(chunks.filter(({ type }) => type === "end").length, 1, "end chunks of one reply");
      assert.notEqual(textIn(chunks), "", "the reply has to have text");
      assert.equal(stopReason, "end", "the reason of a reply that is complete");
      for (const count of [usage.inputTokens, usage.outputTokens]) {
        assert(Number.isInteger(count) && count >= 0, `a count of tokens has to be a whole number, and it is ${count}`);
      }
      assert.notEqual(model, "", "the end has to name the model");
    },
  },
  {
    name: "passes text on piece by piece, whole and in order",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      const chunks = await read(provider, asks("hello"));
      assert.equal(textIn(chunks), TEXT.join(""), "the text of the reply");
      assert(chunks.filter(({ type }) => type === "text").length > 1, "the text has to come in more than one chunk");
      assert(
        chunks.every((chunk) => chunk.type !== "text" || chunk.text !== ""),
        "no chunk of text may be empty",
      );
    },
  },
  {
    name: "gives the same reply by chat, where it has that",
    needs: [],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      const chunks = await read(provider, asks("hello"));
      if (provider.chat === undefined) return;
      const reply = await provider.chat(asks("hello"));
      assert.equal(reply.text, textIn(chunks), "the text by chat");
      assert.equal(reply.stopReason, endOf(chunks).stopReason, "the reason by chat");
    },
  },
  {
    name: "asks the model of the call, else its default",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider, requests }) {
      const usual = provider.getModel();
      await read(provider, asks("hello"));
      provider.setModel(`${usual}-x`);
      await read(provider, asks("hello"), { model: usual });
      assert.deepEqual(
        requests().map(({ model }) => model),
        [usual, usual],
        "the models that the backend was asked for",
      );
    },
  },
  {
    name: "sends the system text, the turn's context, what memory found and the whole conversation",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider, requests }) {
      await read(
        provider,
        [...asks("first-words"), { role: "assistant", content: "first-reply" }, ...asks("newest-words")],
        { system: "stable-system", context: "turn-context", retrieved: "found-in-memory" },
      );
      const body = requests()[0]?.body ?? "";
      for (const part of [
        "first-words",
        "first-reply",
        "newest-words",
        "stable-system",
        "turn-context",
        "found-in-memory",
      ])
        assert(body.includes(part), `the request lacks ${part}`);
    },
  },
  {
    name: "sends images of a message",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider, requests }) {
      const image = { type: "image", mediaType: "image/png", data: DOT } as const;
      await read(provider, [{ role: "user", content: [{ type: "text", text: "see" }, image] }]);
      assert(requests()[0]?.body.includes(image.data), "the request lacks the image");
    },
  },
  {
    name: "says that an answer came to its limit, and counts tokens as the backend does",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT, cut: true, usage: { inputTokens: 123, outputTokens: 45 } }],
    async run({ provider }) {
      const { stopReason, usage } = endOf(await read(provider, asks("hello")));
      assert.equal(stopReason, "length", "the reason of a reply that came to its limit");
      assert.equal(usage.inputTokens, 123, "tokens of input");
      assert.equal(usage.outputTokens, 45, "tokens of output");
    },
  },
];
