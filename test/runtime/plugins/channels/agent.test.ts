import { describe, expect, test } from "vitest";
import type { AgentPost } from "../../../../runtime/contracts/agent-channel.ts";
import type { CommandRequest, InboundMessage } from "../../../../runtime/contracts/channel.ts";
import { createAgentChannel } from "../../../../runtime/plugins/channels/agent/index.ts";
import { type ChannelHarness, channelConformance } from "../../../../runtime/testing/channel/index.ts";

const owner = { id: "owner", owner: true };
const post: AgentPost = { agent: "main", session: "s", text: "hi", caller: owner };

function channel() {
  let ids = 0;
  const made = createAgentChannel({ id: "agent", ownerId: "me", newId: () => `id-${++ids}` });
  const messages: InboundMessage[] = [];
  const commands: CommandRequest[] = [];
  made.onMessage(async (message) => {
    messages.push(message);
    return { turnId: "t", agent: message.agent, fresh: true };
  });
  made.onCommand(async (command) => {
    commands.push(command);
    return { text: "done" };
  });
  return { made, messages, commands };
}

const harness: ChannelHarness = {
  lacks: ["platform", "receiver", "edit", "drafts", "reactions", "strangers"],
  async open() {
    const made = createAgentChannel({ id: "agent", newId: () => "id" });
    return {
      channel: made,
      conversation: "s",
      secret: "none",
      async deliver({ text, key }) {
        if (text.startsWith("/")) await made.command({ agent: "main", session: "s", line: text, caller: owner });
        else await made.post({ ...post, text, idempotencyKey: key });
      },
      close: async () => undefined,
    };
  },
};

describe("the agent channel", () => {
  describe("keeps the contract of channels", () => {
    for (const check of channelConformance(harness)) test(check.name, check.run);
  });

  test("refuses messages before it has started and after it has stopped", async () => {
    const { made, messages } = channel();
    await expect(made.post(post)).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
    await made.start();
    await made.post(post);
    await made.stop();
    await expect(made.post(post)).rejects.toMatchObject({ code: "RUNTIME_DRAINING" });
    await expect(made.command({ agent: "main", session: "s", line: "/status", caller: owner })).rejects.toMatchObject({
      code: "RUNTIME_DRAINING",
    });
    expect(messages).toHaveLength(1);
  });

  test("refuses to start over nothing: without a handler it is not ready", async () => {
    const made = createAgentChannel({ id: "agent", newId: () => "id" });
    await made.start();
    await expect(made.post(post)).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
  });

  test("hands over what was said, and leaves out what was not given", async () => {
    const { made, messages } = channel();
    await made.start();
    await made.post({ ...post, attachments: [], history: [] });
    expect(messages[0]).toEqual({
      address: { channel: "agent", conversation: "s", user: "" },
      agent: "main",
      externalId: ":id-1",
      text: "hi",
      owner: true,
    });
    await made.post({ ...post, history: [{ role: "user", content: "before" }] });
    expect(messages[1]?.history).toEqual([{ role: "user", content: "before" }]);
  });

  test("keeps keys of different senders apart, however they are spelled", async () => {
    const { made, messages } = channel();
    await made.start();
    const stranger = { id: "bridge", owner: false };
    await made.post({ ...post, idempotencyKey: "a:k" });
    await made.post({ ...post, user: "a", idempotencyKey: "k" });
    await made.post({ ...post, user: "a:", idempotencyKey: "k" });
    await made.post({ ...post, user: "a", idempotencyKey: ":k" });
    await made.post({ ...post, caller: stranger, idempotencyKey: "k" });
    await made.post({ ...post, caller: { ...stranger, id: "other" }, idempotencyKey: "k" });
    expect(new Set(messages.map(({ externalId }) => externalId)).size).toBe(6);
    await made.post({ ...post, user: "me", idempotencyKey: "a:k" });
    expect(messages[6]?.externalId).toBe(messages[0]?.externalId);
  });

  test("gives commands the sender's own conversation", async () => {
    const { made, commands } = channel();
    await made.start();
    await made.command({ agent: "main", session: "s", user: "ann", line: "/new", caller: owner });
    expect(commands[0]).toEqual({
      address: { channel: "agent", conversation: "s", user: "ann" },
      agent: "main",
      line: "/new",
      owner: false,
    });
  });

  test("has delivered a reply as soon as it is stored", async () => {
    const { made } = channel();
    const address = { channel: "agent", conversation: "s", user: "" };
    expect(await made.send({ address, agent: "main", turnId: "t", text: "reply" })).toBeNull();
  });
});
