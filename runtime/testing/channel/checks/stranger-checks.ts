import assert from "node:assert/strict";
import { admitting, type CheckDefinition, platformOf, waitUntil } from "../support.ts";
import { begin } from "./receiving-checks.ts";

/** Who is not the owner: unheard, asked for a code, or admitted. */

const CODE = "ABCD-EFGH";

export const STRANGER_CHECKS: readonly CheckDefinition[] = [
  {
    name: "is silent to strangers, and hands over nothing of theirs",
    needs: ["platform", "strangers"],
    async run(open) {
      const { accepted, commands } = open;
      await begin(open);
      await open.deliver({ from: "stranger", text: "let me in", key: "1" });
      await open.deliver({ from: "stranger", text: "/status", key: "2" });
      await open.deliver({ from: "owner", text: "the owner", key: "3" });
      await waitUntil(() => accepted.some(({ text }) => text === "the owner"), "the owner has to be heard");
      assert.deepEqual(
        accepted.map(({ text }) => text),
        ["the owner"],
        "what was handed over",
      );
      assert.deepEqual(commands, [], "commands of strangers");
      assert.deepEqual(platformOf(open).shown(), [], "what strangers were sent");
    },
  },
  {
    name: "shows a stranger the code that it is given, and hands over nothing of theirs",
    needs: ["platform", "strangers"],
    async run(open) {
      const { channel, accepted, commands } = open;
      const { shown } = platformOf(open);
      const asked = admitting(channel, () => ({ admitted: false, code: CODE }));
      await begin(open);
      await open.deliver({ from: "stranger", text: "let me in", key: "1" });
      await waitUntil(() => shown().some(({ text }) => text.includes(CODE)), "the stranger has to be shown the code");
      const [stranger] = asked;
      assert.deepEqual(
        [stranger?.channel, stranger?.mayAsk],
        [channel.id, true],
        "who is asked about, alone with the bot",
      );
      assert.notEqual(stranger?.user, "", "the stranger's id must not be empty");
      assert.deepEqual([accepted, commands], [[], []], "what was handed over of a stranger");
    },
  },
  {
    name: "hears strangers who are admitted, as other users than the owner",
    needs: ["platform", "strangers"],
    async run(open) {
      const { channel, accepted, commands } = open;
      const asked = admitting(channel, () => ({ admitted: true }));
      await begin(open);
      await open.deliver({ from: "stranger", text: "hello", key: "1" });
      await open.deliver({ from: "stranger", text: "/status", key: "2" });
      await waitUntil(() => accepted.length > 0 && commands.length > 0, "who is admitted has to be heard");
      const [message] = accepted;
      assert.deepEqual(
        [message?.text, message?.owner, message?.address.user, commands[0]?.owner],
        ["hello", false, asked[0]?.user, false],
        "the text, whether it is the owner's, whose it is, and whether the command is the owner's",
      );
    },
  },
];
