/**
 * The process is killed around the question of a turn that waits, and around its answer. After its restart the user has been asked
 * once, an answer that was accepted is used, and no call that may have acted is executed again. Calls and acts are counted outside,
 * as lines of a file.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FakeServer, startOpenAiFake } from "../../fakes/openai/index.ts";
import type { NodeProcess } from "../node-process.ts";
import { BACKENDS, startDoomedNode } from "./doomed-node.ts";
import type { KillPoint } from "./wire-watcher.ts";

export interface WaitStep {
  readonly name: string;
  /** Null: killed while the turn waits, between any two statements. */
  readonly point: KillPoint | null;
  /** Whether the user was asked. */
  readonly asked: boolean;
  /** Whether the user must be told of an interruption. */
  readonly interrupted: boolean;
  /** How often the call may have begun, and acted. */
  readonly calls: readonly [begun: number, acted: 0 | 1];
  /** Whether the model must be told that the call's outcome is unknown. */
  readonly unknown: boolean;
}

const ANSWER = "turn:answer */";

function at(
  when: KillPoint["when"],
  statement: string,
  interrupted: boolean,
  more: Partial<Pick<WaitStep, "asked" | "calls" | "unknown">> = {},
): WaitStep {
  const name = `${when} ${statement}`;
  return {
    name,
    point: { statement, nth: 1, when },
    interrupted,
    asked: true,
    calls: [2, 1],
    unknown: false,
    ...more,
  };
}

/** In the order in which a turn passes them. */
export const WAIT_STEPS: readonly WaitStep[] = [
  // Begun and not known to have asked: as any call whose process dies.
  at("before", "turn:wait", true, { asked: false, calls: [1, 0], unknown: true }),
  at("before", "turn:question-outbox", true, { asked: false, calls: [1, 0], unknown: true }),
  at("after", "turn:wait", false),
  { ...at("after", "", false), name: "while it waits", point: null },
  at("before", ANSWER, false),
  at("after", ANSWER, false),
  at("before", `${ANSWER}>turn:claim`, false),
  at("after", `${ANSWER}>turn:claim`, true),
  at("before", `${ANSWER}>turn:intention`, true),
  at("after", `${ANSWER}>turn:intention`, true, { calls: [1, 0], unknown: true }),
  at("before", `${ANSWER}>turn:result`, true, { unknown: true }),
  at("after", `${ANSWER}>turn:result`, true),
  at("before", `${ANSWER}>turn:finish`, true),
  at("after", `${ANSWER}>turn:finish`, false),
];

interface Turn {
  readonly turn_id: string;
  readonly state?: string;
  readonly question?: { readonly id: string };
  readonly text?: string;
  readonly interrupted?: boolean;
  readonly notice?: string;
}

const ASKING = { nodeOptions: ["--import", new URL("./asking-tool.ts", import.meta.url).href] };

/** A test for each of the steps, on both backends. Takes 3 s each. */
export function describeKilledWaits(steps: readonly WaitStep[]): void {
  describe.each(BACKENDS)("kill -9 of a turn that waits for an answer (%s)", (backend) => {
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

    const send = (node: NodeProcess) =>
      node.call<Turn>(
        "/api/agents/main/messages",
        { session: "s", text: "ask me" },
        { headers: { "idempotency-key": "the-message" } },
      );
    const answer = (node: NodeProcess, turnId: string, questionId: string | undefined) =>
      node.call(`/api/agents/main/turns/${turnId}/answer`, { text: "red", question_id: questionId });

    it.each([...steps])("$name", async ({ point, asked, interrupted, calls, unknown }) => {
      fake.setScript(({ lastUser, step }) =>
        lastUser === "ask me" && step === 0
          ? { toolCalls: [{ id: "c1", name: "ask", arguments: {} }] }
          : { text: "Done." },
      );
      const node = { backend, point, modelUrl: fake.baseUrl, defer, ...ASKING };
      const { first, deployment, again } = await startDoomedNode(node);
      const questions = new Set<string | undefined>();
      /** As a user's client does: it answers what it is asked, and sends again what it got no result of. */
      async function converse(with_: NodeProcess): Promise<Turn> {
        const turn = await send(with_);
        if (turn.state !== "waiting") return turn;
        questions.add(turn.question?.id);
        if (point === null && with_ === first) return turn;
        await answer(with_, turn.turn_id, turn.question?.id);
        return send(with_);
      }
      await converse(first).catch(() => undefined);
      if (point === null) first.signal("SIGKILL");
      expect(await first.exited, first.output()).toBe("SIGKILL");

      const next = await again();
      const result = await converse(next);
      expect(result).toMatchObject({ text: "Done.", interrupted });
      expect(result.notice?.includes("interrupted") ?? false).toBe(interrupted);
      expect(questions.size).toBe(asked ? 1 : 0);
      // The same answer may be given again, also when the turn has ended: a client may not have got the response.
      for (const id of questions) {
        expect(await answer(next, result.turn_id, id)).toEqual({ turn_id: result.turn_id, question_id: id });
      }

      const lines = (await readFile(join(deployment.workspace, "calls.txt"), "utf8")).trim().split("\n");
      expect(["begun", "acted on red"].map((line) => lines.filter((one) => one === line).length)).toEqual(calls);
      expect(lines).toHaveLength(calls[0] + calls[1]);
      const said = fake.requests.at(-1)?.results?.at(-1)?.text ?? "";
      expect(said.includes("TOOL_OUTCOME_UNKNOWN")).toBe(unknown);
      // The answer reaches the model in each case.
      expect(said.includes("red")).toBe(asked);

      const { messages } = await next.call<{ messages: { role: string; content: string; tool_name: string | null }[] }>(
        "/api/memory/tool/memory_browse",
        { order: "asc" },
      );
      expect(messages.map(({ role, content, tool_name }) => tool_name ?? `${role}: ${content}`)).toEqual([
        "user: ask me",
        "ask",
        "assistant: Done.",
      ]);
    });
  });
}
