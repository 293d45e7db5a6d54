/**
 * The process is killed at a step of a turn. After its restart the message has been answered once, no recorded call
 * has run again, and whoever asked is told when there was an interruption. What happened is counted outside: lines that
 * the tool calls write into a file, requests that reach the model, and what the model was told about its calls.
 */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FakeServer, startOpenAiFake } from "../../fakes/openai/index.ts";
import { BACKENDS, startDoomedNode } from "./doomed-node.ts";
import type { KillPoint } from "./wire-watcher.ts";

export interface Step extends KillPoint {
  /** Whether the user must be told of an interruption. */
  readonly interrupted: boolean;
  /** Lines that the two calls may have written, in all. */
  readonly effects: readonly [first: 0 | 1, second: 0 | 1];
  /** Calls of which the model must be told that their outcome is unknown. */
  readonly unknown: readonly ("c1" | "c2")[];
}

const step = (
  statement: string,
  nth: number,
  when: Step["when"],
  interrupted: boolean,
  effects: Step["effects"] = [1, 1],
  unknown: Step["unknown"] = [],
): Step => ({ statement, nth, when, interrupted, effects, unknown });

/** In the order in which a turn passes them. */
export const STEPS: readonly Step[] = [
  step("inbox:accept", 1, "before", false),
  step("inbox:accept", 1, "after", false),
  step("inbox:accept>turn:claim", 1, "before", false),
  step("inbox:accept>turn:claim", 1, "after", true),
  step("turn:conversation", 1, "before", true),
  step("turn:conversation", 1, "after", true),
  step("turn:reply", 1, "before", true),
  step("turn:reply", 1, "after", true),
  step("turn:intention", 1, "before", true),
  step("turn:intention", 1, "after", true, [0, 1], ["c1"]),
  step("turn:result", 1, "before", true, [1, 1], ["c1"]),
  step("turn:result", 1, "after", true),
  step("turn:intention", 2, "before", true),
  step("turn:intention", 2, "after", true, [1, 0], ["c2"]),
  step("turn:result", 2, "before", true, [1, 1], ["c2"]),
  step("turn:result", 2, "after", true),
  step("turn:finish", 1, "before", true),
  step("turn:finish", 1, "after", false),
  step("turn:finish>outbox:take", 1, "after", false),
  step("outbox:sent", 1, "before", false),
  step("outbox:sent", 1, "after", false),
];

/** A test for each of the steps, on both backends. Takes 3 s each. */
export function describeKills(steps: readonly Step[]): void {
  describe.each(BACKENDS)("kill -9 in the middle of a turn (%s)", (backend) => {
    let fake: FakeServer;
    const defer: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      fake = await startOpenAiFake();
    });
    afterAll(() => fake.close());
    afterEach(async () => {
      for (const end of defer.splice(0).reverse()) await end();
      fake.reset();
    });

    async function doomed(point: KillPoint) {
      fake.setScript(({ lastUser, step: n }) =>
        lastUser !== "do both"
          ? { text: "hello" }
          : n === 0
            ? {
                toolCalls: [
                  { id: "c1", name: "shell", arguments: { command: "echo c1 >> effects.txt" } },
                  { id: "c2", name: "shell", arguments: { command: "echo c2 >> effects.txt" } },
                ],
              }
            : { text: "Both done." },
      );
      return startDoomedNode({ backend, point, modelUrl: fake.baseUrl, defer });
    }

    it.each([...steps])("$when $statement ($nth)", async ({ interrupted, effects, unknown, ...point }) => {
      const { first, deployment, again } = await doomed(point);
      const key = { headers: { "idempotency-key": "the-message" } };
      const body = { session: "s", text: "do both" };
      await first.call("/api/agents/main/messages", body, key).catch(() => undefined);
      expect(await first.exited, first.output()).toBe("SIGKILL");

      const next = await again();
      const result = await next.call<{ text: string; interrupted: boolean; notice?: string; turn_id: string }>(
        "/api/agents/main/messages",
        body,
        key,
      );
      expect(result.text).toBe("Both done.");
      expect(result.interrupted).toBe(interrupted);
      expect(result.notice?.includes("interrupted") ?? false).toBe(interrupted);

      const file = join(deployment.workspace, "effects.txt");
      const lines = existsSync(file) ? (await readFile(file, "utf8")).trim().split("\n") : [];
      expect(["c1", "c2"].map((id) => lines.filter((line) => line === id).length)).toEqual(effects);
      const results = fake.requests.at(-1)?.results ?? [];
      expect(results.filter(({ text }) => text.includes("TOOL_OUTCOME_UNKNOWN")).map(({ id }) => id)).toEqual(unknown);

      const { messages } = await next.call<{ messages: { role: string; content: string; tool_name: string | null }[] }>(
        "/api/memory/tool/memory_browse",
        { order: "asc" },
      );
      expect(messages.map(({ role, content, tool_name }) => tool_name ?? `${role}: ${content}`)).toEqual([
        "user: do both",
        "shell",
        "shell",
        "assistant: Both done.",
      ]);
      expect(await next.call(`/api/agents/main/turns/${result.turn_id}`)).toMatchObject({ text: "Both done." });
    });
  });
}
