/** A model that goes in circles: the guard against the same call with the same result, in turns that run and that are resumed. */

import { expect, it } from "vitest";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { describeDatabase } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  hang,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

describeDatabase("a model that repeats a call", (open) => {
  /** Calls `probe` until it was refused; `result` of its nth run. */
  function stubborn(result: (n: number) => Promise<string>) {
    const counts = { runs: 0 };
    const probe: Tool = {
      name: "probe",
      description: "probe",
      parameters: { type: "object" },
      execute: async () => ({ content: await result(++counts.runs) }),
    };
    const script: HarnessOptions["script"] = ({ messages }, n) =>
      String(messages.at(-1)?.content).startsWith("TOOL_REPEATED") || n > 8
        ? [text("I give up."), end()]
        : [toolCall(`c${n}`, "probe", { at: 1 }), end("tool_calls")];
    return { counts, options: { script, tools: [probe], limits: { maxToolIterations: 20 } } };
  }

  const results = async (harness: Harness) =>
    (await harness.transcript()).flatMap(({ tool_result }) => tool_result ?? []);

  it("gets a notice with the third same result, and its fourth call is refused", async () => {
    const { counts, options } = stubborn(async () => "nothing new");
    const harness = await startHarness({ database: await open(), ...options });
    try {
      expect(await harness.say("go")).toMatchObject({ text: "I give up." });
      expect(counts.runs).toBe(3);
      expect(await results(harness)).toEqual([
        "nothing new",
        "nothing new",
        expect.stringMatching(/^nothing new\n\n\[This was the same call/),
        expect.stringMatching(/^TOOL_REPEATED: /),
      ]);
      // The next message begins anew.
      await harness.say("go again");
      expect(counts.runs).toBeGreaterThan(3);
    } finally {
      await harness.stop();
    }
  });

  it("may go on where the result changes", async () => {
    const { counts, options } = stubborn(async (n) => `${n} of 8`);
    const harness = await startHarness({ database: await open(), ...options });
    try {
      await harness.say("go");
      expect(counts.runs).toBe(8);
    } finally {
      await harness.stop();
    }
  });

  it("is counted over a restart", async () => {
    const reached = Promise.withResolvers<void>();
    const { counts, options } = stubborn(async (n) => {
      if (n !== 3) return "nothing new";
      reached.resolve();
      return hang();
    });
    const doomed = await startHarness({ database: await open(), ...options });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await reached.promise;
    await doomed.die();
    const next = await startHarness({ database: await open(), ...options, ...doomed.next });
    try {
      await next.turns.wait(next.agentName, turnId);
      // Two, the one that was interrupted, whose outcome is another, and three more.
      expect(counts.runs).toBe(6);
    } finally {
      await next.stop();
    }
  });
});
