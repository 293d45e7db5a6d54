import assert from "node:assert/strict";
import {
  assertFailure,
  assertWithoutSecret,
  type CheckDefinition,
  failureOf,
  platformOf,
  present,
  reply,
} from "../support.ts";

/** How failures of the platform are reported: with a code, and without the secret. */

export const FAILURE_CHECKS: readonly CheckDefinition[] = [
  {
    name: "starts where the platform cannot be reached, and reports what could not be sent as CHANNEL_CONNECTION_LOST",
    needs: ["platform"],
    async run(open) {
      const { channel, secret } = open;
      platformOf(open).fail("unreachable");
      await channel.start();
      const error = await failureOf(channel.send(reply(open, "hello")));
      assertFailure(error, ["CHANNEL_CONNECTION_LOST"], true);
      assertWithoutSecret(error, secret, "the error");
      assertWithoutSecret(open.logged?.() ?? "", secret, "the log");
    },
  },
  {
    name: "reports what the platform refuses for good as CHANNEL_REFUSED",
    needs: ["platform"],
    async run(open) {
      const { channel, secret } = open;
      await channel.start();
      platformOf(open).fail("refused");
      const error = await failureOf(channel.send(reply(open, "hello")));
      assertFailure(error, ["CHANNEL_REFUSED"], false);
      assertWithoutSecret(error, secret, "the error");
      assertWithoutSecret(open.logged?.() ?? "", secret, "the log");
    },
  },
  {
    name: "ends receiving with a sentence for operators where the platform cannot be reached",
    needs: ["platform", "receiver"],
    async run(open) {
      const { channel, secret } = open;
      platformOf(open).fail("unreachable");
      await channel.start();
      const { account, receive } = present(channel.receiver, "receiver");
      assertWithoutSecret(account, secret, "the account");
      const ending = new AbortController();
      try {
        const error = await failureOf(
          receive.call(channel.receiver, {
            signal: ending.signal,
            connected: () => assert.fail("`connected` must not be called for a platform that cannot be reached"),
            position: { read: async () => undefined, keep: async () => undefined },
          }),
        );
        assert(error instanceof Error && error.message !== "", "the error has to have a message");
        assert(error.name !== "AssertionError", error.message);
        assertWithoutSecret(error, secret, "the error");
        assertWithoutSecret(open.logged?.() ?? "", secret, "the log");
      } finally {
        ending.abort();
      }
    },
  },
];
