import assert from "node:assert/strict";
import { MemoryError, RuntimeError } from "../../../contracts/errors.ts";
import {
  admitting,
  type CheckDefinition,
  COMMAND_REPLY,
  type Connected,
  platformOf,
  present,
  reply,
  waitUntil,
} from "../support.ts";

/** How messages come: each one until it is taken, and none twice without need. */

/** Milliseconds behind the signal's abort after which a receiver keeps others from beginning. */
const END_MS = 5_000;

export const RECEIVING_CHECKS: readonly CheckDefinition[] = [
  {
    name: "hands over what the owner writes, with what a reply needs",
    needs: [],
    async run(open) {
      const { channel, accepted } = open;
      await begin(open);
      await open.deliver({ from: "owner", text: "one", key: "1" });
      await open.deliver({ from: "owner", text: "two", key: "2" });
      await waitUntil(() => accepted.length >= 2, "two messages were delivered, and they were not handed over");
      const [one, two] = accepted;
      assert(one && two, "two messages");
      assert.deepEqual([one.text, two.text], ["one", "two"], "the texts, in order");
      for (const { address, owner, externalId, sentAt } of [one, two]) {
        assert.equal(address.channel, channel.id, "the channel of the address");
        assert.notEqual(address.conversation, "", "the conversation must not be empty");
        assert.equal(owner, true, "whether it is the owner's");
        assert.notEqual(externalId, "", "externalId must not be empty");
        if (sentAt !== undefined) assert(!Number.isNaN(Date.parse(sentAt)), `sentAt has to be a time: ${sentAt}`);
      }
      assert.notEqual(one.externalId, two.externalId, "two messages have two externalIds");
      await channel.send({ ...reply(open, "answer"), address: one.address });
      if (open.platform) {
        const isThere = open.platform.shown().some(({ text }) => text === "answer");
        assert(isThere, "what is sent to the address of a message has to arrive");
      }
    },
  },
  {
    name: "puts a reaction on a message that it has handed over",
    needs: ["platform", "reactions"],
    async run(open) {
      const { accepted, channel } = open;
      const { reactions } = platformOf(open);
      assert(reactions, "the harness has to say what reactions its platform has");
      await begin(open);
      await open.deliver({ from: "owner", text: "one", key: "1" });
      await waitUntil(() => accepted.length > 0, "the message was not handed over");
      const { address, messageId } = accepted[0] ?? {};
      assert(address && messageId, "a message that can be reacted to has a messageId");
      await present(channel.react, "react").call(channel, address.conversation, messageId, "👀");
      assert.deepEqual(reactions(), ["👀"], "the reactions to messages of people");
    },
  },
  {
    name: "hands a message over again, with its externalId, where it could not be stored",
    needs: [],
    async run(open) {
      const { accepted } = open;
      const refused: string[] = [];
      open.accept = async ({ externalId }) => {
        if (refused.push(externalId) === 1) throw new MemoryError("MEMORY_UNAVAILABLE", "refused by a check");
      };
      await begin(open);
      const deliver = () => open.deliver({ from: "owner", text: "one", key: "1" });
      if (open.channel.receiver) await deliver();
      else {
        await assert.rejects(deliver(), "what is not stored must not count as taken");
        await deliver();
      }
      await waitUntil(() => accepted.length > 0, "a message that could not be stored has to come again");
      assert.equal(accepted[0]?.externalId, refused[0], "the externalId of the message that came again");
    },
  },
  {
    name: "does not stand still where one person writes more than they may: that is said, and what others write is handed over",
    needs: ["receiver", "strangers", "commands"],
    async run(open) {
      const { accepted, channel, commands, platform } = open;
      const sentence = "Too many wait.";
      open.accept = async ({ owner }) => {
        if (!owner) throw new RuntimeError("RUNTIME_RATE_LIMITED", sentence, { retryAfterS: 10 });
      };
      admitting(channel, () => ({ admitted: true }));
      await begin(open);
      await open.deliver({ from: "stranger", text: "one too many", key: "1" });
      await open.deliver({ from: "owner", text: "/stop", key: "2" });
      await open.deliver({ from: "owner", text: "mine", key: "3" });
      await waitUntil(() => commands.length > 0, "the owner's command has to be handed over");
      await waitUntil(() => accepted.length > 0, "the owner's message has to be handed over");
      assert.deepEqual([commands[0]?.line, accepted[0]?.text], ["/stop", "mine"], "what the owner has written");
      if (!platform) return;
      const isSaid = () => platform.shown().some(({ text }) => text.includes(sentence));
      await waitUntil(isSaid, "who has written too much has to be told so");
    },
  },
  {
    name: "hands over once what was taken, also where another receiver goes on",
    needs: ["receiver"],
    async run(open) {
      const { accepted } = open;
      const first = await begin(open);
      await open.deliver({ from: "owner", text: "one", key: "1" });
      await waitUntil(() => accepted.length > 0, "the message was not handed over");
      await first.end();
      const second = open.receive();
      await waitUntil(second.isUp, "the second receiver does not come up");
      await open.deliver({ from: "owner", text: "two", key: "2" });
      await waitUntil(() => accepted.some(({ text }) => text === "two"), "the second receiver hands nothing over");
      assert.deepEqual(
        accepted.map(({ text }) => text),
        ["one", "two"],
        "what was handed over, in order",
      );
    },
  },
  {
    name: "resolves soon when the receiver's signal aborts",
    needs: ["receiver"],
    async run(open) {
      const receiving = await begin(open);
      await endsSoon(receiving);
    },
  },
  {
    name: "resolves soon when the signal aborts while a message is being stored, which then comes again",
    needs: ["receiver"],
    async run(open) {
      const { accepted } = open;
      const stored = Promise.withResolvers<void>();
      const seen: string[] = [];
      open.accept = async ({ externalId }) => {
        if (seen.push(externalId) === 1) await stored.promise;
      };
      const first = await begin(open);
      await open.deliver({ from: "owner", text: "one", key: "1" });
      await waitUntil(() => seen.length > 0, "the message was not handed over");
      try {
        await endsSoon(first);
        open.receive();
        await waitUntil(() => accepted.length > 0, "a message that was not stored at the end has to come again");
      } finally {
        stored.resolve();
      }
      assert.equal(accepted[0]?.externalId, seen[0], "the externalId of the message that came again");
    },
  },
  {
    name: "routes a command to its handler, and says what that answers",
    needs: ["commands"],
    async run(open) {
      const { accepted, commands, platform } = open;
      await begin(open);
      await open.deliver({ from: "owner", text: "/status now", key: "1" });
      await waitUntil(() => commands.length > 0, "a command has to be given to its handler");
      const [command] = commands;
      assert.deepEqual([command?.line, command?.owner], ["/status now", true], "the line of the command, of the owner");
      assert.deepEqual(accepted, [], "a command is no message");
      if (!platform) return;
      const isAnswered = () => platform.shown().some(({ text }) => text === COMMAND_REPLY);
      await waitUntil(isAnswered, "the answer to a command has to be sent");
    },
  },
];

/** Starts the channel, and receives until it is up. */
export async function begin(open: Connected) {
  await open.channel.start();
  const receiving = open.receive();
  await waitUntil(receiving.isUp, "the receiver has to call `connected` when it receives");
  return receiving;
}

async function endsSoon(receiving: ReturnType<Connected["receive"]>): Promise<void> {
  const ended = receiving.end();
  await waitUntil(receiving.hasEnded, `the receiver still receives ${END_MS / 1_000} s behind its signal`, END_MS);
  assert.equal(await ended, undefined, "a receiver resolves when its signal aborts, and does not reject");
}
