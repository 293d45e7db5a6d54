import assert from "node:assert/strict";
import { asks, type CheckDefinition, failureOf, read, waitUntil } from "../support.ts";

/** How a request ends before its answer does. */

const ENDLESS = ["one ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight "];
const REASON = new Error("stopped by a check");

export const ABORT_CHECKS: readonly CheckDefinition[] = [
  {
    name: "rejects with the signal's reason while it streams, and ends the request",
    needs: ["server"],
    script: [{ kind: "stall", text: ENDLESS }],
    async run({ provider, requests }) {
      const controller = new AbortController();
      const error = await failureOf(
        (async () => {
          for await (const chunk of provider.chatStream(asks("hello"), { signal: controller.signal }))
            if (chunk.type === "text") controller.abort(REASON);
        })(),
      );
      assert.equal(error, REASON, "what the call rejects with");
      await waitUntil(() => requests()[0]?.closed === true, "the connection stays open behind the abort");
    },
  },
  {
    name: "rejects with the signal's reason before the first byte, and ends the request",
    needs: ["server"],
    script: [{ kind: "silence" }],
    async run({ provider, requests }) {
      const controller = new AbortController();
      const call = failureOf(read(provider, asks("hello"), { signal: controller.signal }));
      await waitUntil(() => requests().length === 1, "no request was sent");
      controller.abort(REASON);
      assert.equal(await call, REASON, "what the call rejects with");
      await waitUntil(() => requests()[0]?.closed === true, "the connection stays open behind the abort");
    },
  },
  {
    name: "does nothing for a signal that is aborted already",
    needs: [],
    script: [{ kind: "answer", text: ENDLESS }],
    async run({ provider, requests }) {
      const call = read(provider, asks("hello"), { signal: AbortSignal.abort(REASON) });
      assert.equal(await failureOf(call), REASON, "what the call rejects with");
      assert.equal(requests().length, 0, "requests that were sent");
    },
  },
  {
    name: "ends the request when its reader stops reading",
    needs: ["server"],
    script: [{ kind: "stall", text: ENDLESS }],
    async run({ provider, requests }) {
      for await (const chunk of provider.chatStream(asks("hello"))) if (chunk.type === "text") break;
      await waitUntil(() => requests()[0]?.closed === true, "the connection stays open behind the reader");
    },
  },
];
