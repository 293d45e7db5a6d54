import { describe, test } from "vitest";
import type { Memory } from "../../../../runtime/contracts/memory.ts";
import { createOfflineProvider } from "../../../../runtime/plugins/providers/offline/index.ts";
import {
  type BackendStep,
  type ProviderHarness,
  providerConformance,
} from "../../../../runtime/testing/provider/index.ts";
import type { FakeReply } from "../../../fakes/shared/script.ts";
import type { FakeServer } from "../../../fakes/shared/server.ts";
import { APIS, type Api, KEY } from "./support.ts";

/** Every provider of ours keeps the contract, each against its fake. */

/** Events of the fakes that are sent before a stream stands still or breaks: of each API some carry text by then. */
const SOME_EVENTS = 6;

function replyOf(step: BackendStep): FakeReply {
  switch (step.kind) {
    case "answer": {
      const { text, toolCalls, cut, usage } = step;
      return {
        ...(text === undefined ? {} : { text }),
        ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map(({ name, json }) => ({ name, raw: json })) }),
        ...(cut ? { stopReason: "length" } : {}),
        ...(usage === undefined ? {} : { usage: { input: usage.inputTokens, output: usage.outputTokens } }),
      };
    }
    case "silence":
      return { fault: { kind: "hang" } };
    case "stall":
      return { text: step.text, fault: { kind: "hang", after: SOME_EVENTS } };
    case "break":
      return { text: step.text, paceMs: 5, fault: { kind: "cut", after: SOME_EVENTS, how: "destroy" } };
    case "refuse": {
      const headers = step.retryAfterS === undefined ? {} : { "retry-after": String(step.retryAfterS) };
      return { fault: { kind: "status", status: step.status, headers } };
    }
  }
}

function harnessOf(api: Api): ProviderHarness {
  return {
    async open(script) {
      const fake: FakeServer = await api.start({ apiKey: KEY });
      fake.setScript(({ number }) => replyOf(script[number - 1] ?? script.at(-1) ?? { kind: "silence" }));
      let ended: Promise<void> | undefined;
      return {
        provider: api.create({ baseUrl: fake.baseUrl }),
        requests: () =>
          fake.requests.map(({ model, body, state }) => ({
            model,
            body: JSON.stringify(body),
            closed: state === "closed",
          })),
        close: () => (ended ??= fake.close()),
      };
    },
  };
}

describe.each(APIS)("$name", (api) => {
  for (const check of providerConformance(harnessOf(api))) test(check.name, check.run);
});

describe("offline", () => {
  // It searches, and does nothing else with its memory.
  const memory = { search: async () => [] } as unknown as Memory;
  const checks = providerConformance({
    lacks: ["server", "tools"],
    open: async () => ({
      provider: createOfflineProvider({ id: "offline", memory }),
      requests: () => [],
      close: async () => undefined,
    }),
  });
  for (const check of checks) test(check.name, check.run);
});
