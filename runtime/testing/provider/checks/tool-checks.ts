import assert from "node:assert/strict";
import type { Message, ToolCall } from "../../../contracts/message.ts";
import type { ChatChunk } from "../../../contracts/provider.ts";
import type { BackendCall } from "../harness.ts";
import { asks, type CheckDefinition, endOf, read, textIn } from "../support.ts";

/** Calls of tools, and how a conversation goes on behind them. */

const TOOLS = [
  { name: "shell", description: "Runs a command.", parameters: { type: "object", properties: {} } },
] as const;
const CALLS: readonly BackendCall[] = [
  { name: "shell", json: '{"command":"date"}' },
  { name: "shell", json: '{"command":"id","deep":{"list":[1,"zwölf",null]}}' },
  { name: "shell", json: "{}" },
];
const DONE = { kind: "answer", text: ["All ", "done."] } as const;
const BROKEN = '{"command": "ls';

export const TOOL_CHECKS: readonly CheckDefinition[] = [
  {
    name: "gives parallel calls whole, each with an id of its own",
    needs: ["server", "tools"],
    script: [{ kind: "answer", toolCalls: CALLS }],
    async run({ provider, requests }) {
      const chunks = await read(provider, asks("go"), { tools: TOOLS });
      const calls = callsIn(chunks);
      assert.deepEqual(
        calls.map(({ name, arguments: args }) => ({ name, args })),
        CALLS.map(({ name, json }) => ({ name, args: JSON.parse(json) })),
        "the calls of the reply",
      );
      assert.equal(new Set(calls.map(({ id }) => id)).size, CALLS.length, "ids that differ");
      assert.equal(endOf(chunks).stopReason, "tool_calls", "the reason of a reply that asks for tools");
      assert(requests()[0]?.body.includes("Runs a command."), "the request lacks the definition of the tool");
    },
  },
  {
    name: "goes on from the results of its calls",
    needs: ["server", "tools"],
    script: [{ kind: "answer", text: ["Let me see."], toolCalls: CALLS }, DONE],
    async run({ provider, requests }) {
      const chunks = await read(provider, asks("go"), { tools: TOOLS });
      const calls = callsIn(chunks);
      const { state } = endOf(chunks);
      const reply: Message = {
        role: "assistant",
        content: textIn(chunks),
        toolCalls: calls,
        ...(state === undefined ? {} : { providerState: state }),
      };
      // In another order than that of the calls, as tools end.
      const results = calls.map(({ id }, n): Message => ({ role: "tool", toolCallId: id, content: `result-${n}` }));
      const next = await read(provider, [...asks("go"), reply, ...results.toReversed()], { tools: TOOLS });
      assert.equal(textIn(next), DONE.text.join(""), "the text behind the results");
      for (const n of CALLS.keys())
        assert(requests()[1]?.body.includes(`result-${n}`), `the request lacks result ${n}`);
    },
  },
  {
    name: "takes over from another provider in the middle of a tool loop, without that one's state",
    needs: ["server", "tools"],
    script: [DONE],
    async run({ provider, requests }) {
      const call: ToolCall = { id: "made elsewhere: 1", name: "shell", arguments: { command: "date" } };
      const state = { provider: "another", model: "another", data: { secret: "state-of-another" } };
      const chunks = await read(
        provider,
        [
          ...asks("go"),
          { role: "assistant", content: "", toolCalls: [call], providerState: state },
          { role: "tool", toolCallId: call.id, content: "noon", isError: false },
        ],
        { tools: TOOLS },
      );
      assert.equal(textIn(chunks), DONE.text.join(""), "the text of the reply");
      assert(!requests()[0]?.body.includes("state-of-another"), "state of another provider was sent");
    },
  },
  {
    name: "answers a call whose result is missing",
    needs: ["server", "tools"],
    script: [DONE],
    async run({ provider }) {
      const call: ToolCall = { id: "call_1", name: "shell", arguments: {} };
      const messages: Message[] = [
        ...asks("go"),
        { role: "assistant", content: "", toolCalls: [call] },
        ...asks("well?"),
      ];
      assert.equal(
        textIn(await read(provider, messages, { tools: TOOLS })),
        DONE.text.join(""),
        "the text of the reply",
      );
    },
  },
  {
    name: "brings a call along whose arguments are no JSON, with all that the model wrote, or with nothing of it",
    needs: ["server", "tools"],
    script: [{ kind: "answer", toolCalls: [{ name: "shell", json: BROKEN }] }],
    async run({ provider }) {
      const calls = callsIn(await read(provider, asks("go"), { tools: TOOLS }));
      assert.equal(calls.length, 1, "calls of a reply whose one call is no JSON");
      const written = calls[0]?.arguments["__invalid_json"];
      // Nothing, where the service cannot read the call itself and does not hand it on.
      assert(written === BROKEN || written === "", "the arguments of a call that is no JSON");
    },
  },
];

function callsIn(chunks: readonly ChatChunk[]): ToolCall[] {
  return chunks.flatMap((chunk) => (chunk.type === "tool_call" ? [chunk.call] : []));
}
