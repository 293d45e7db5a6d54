import assert from "node:assert/strict";
import { type CheckDefinition, waitUntil } from "../support.ts";

/** What a channel is, and how it starts and stops. */

export const LIFECYCLE_CHECKS: readonly CheckDefinition[] = [
  {
    name: "has what the harness says, and nothing of what it lacks",
    needs: [],
    async run({ channel, platform, lacks }) {
      assert.notEqual(channel.id, "", "the id must not be empty");
      assert.notEqual(channel.platform, "", "the platform must not be empty");
      const has = {
        platform: platform !== undefined,
        receiver: channel.receiver !== undefined,
        edit: channel.edit !== undefined,
        drafts: channel.draftPauseMs !== undefined,
        reactions: channel.react !== undefined,
        strangers: channel.onStranger !== undefined,
      };
      for (const [feature, isThere] of Object.entries(has))
        assert.equal(isThere, !lacks.some((one) => one === feature), `whether it has ${feature}`);
      assert(has.edit || !has.drafts, "draftPauseMs needs edit: what a reply shows is changed by it");
      if (channel.receiver) assert.notEqual(channel.receiver.account, "", "the receiver's account must not be empty");
    },
  },
  {
    name: "says how it is, with reasons, where each node receives for itself; with a receiver the node does",
    needs: [],
    async run({ channel }) {
      const { state } = channel;
      assert.equal(
        state === undefined,
        channel.receiver !== undefined,
        "whether it has no state is whether it has a receiver",
      );
      if (state === undefined) return;
      const now = () => state.call(channel);
      assert.equal(now().state, "connecting", "the state before its start");
      assert(now().reason, "a state that is not up has a reason");
      await channel.start();
      assert.deepEqual(now(), { state: "up", reason: null }, "the state of a channel that works");
      await channel.stop();
      assert.equal(now().state, "down", "the state behind its stop");
      assert(now().reason, "a state that is not up has a reason");
    },
  },
  {
    name: "stops without ever having started, and twice",
    needs: [],
    async run({ channel }) {
      await assert.doesNotReject(channel.stop(), "stop without start");
      await assert.doesNotReject(channel.stop(), "a second stop");
    },
  },
  {
    name: "shows that it types while turns run, as often as it is asked, and takes as many ends",
    needs: [],
    async run({ channel, conversation, platform }) {
      const { startTyping, stopTyping } = channel;
      assert.equal(
        startTyping === undefined,
        stopTyping === undefined,
        "who has startTyping has stopTyping, or it would type for ever",
      );
      if (startTyping === undefined || stopTyping === undefined) return;
      await channel.start();
      const { typing } = platform ?? {};
      const before = typing?.() ?? 0;
      await assert.doesNotReject(startTyping.call(channel, conversation), "the first turn's startTyping");
      await assert.doesNotReject(startTyping.call(channel, conversation), "startTyping of a second turn");
      if (typing !== undefined) await waitUntil(() => typing() > before, "it has to be shown that it types");
      await assert.doesNotReject(stopTyping.call(channel, conversation), "the first turn's stopTyping");
      await assert.doesNotReject(stopTyping.call(channel, conversation), "stopTyping of the second turn");
      // A turn may end whose beginning the channel has not seen: another start of the node showed it.
      await assert.doesNotReject(stopTyping.call(channel, conversation), "stopTyping without a startTyping");
    },
  },
];
