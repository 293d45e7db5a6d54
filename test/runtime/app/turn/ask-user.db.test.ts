/** ask_user in turns: it waits over a restart, takes the answer, expires, is stopped, and fails at once where nobody can answer. */

import { afterEach, expect, it } from "vitest";
import { createAskUserTool } from "../../../../runtime/plugins/tools/ask-user/index.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { end, type Harness, type HarnessOptions, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

describeDatabase("ask_user", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });

  /** Asks, then says what it got. */
  const asking =
    (args: Record<string, unknown> = { question: "Which one?", choices: ["red", "blue"] }): HarnessOptions["script"] =>
    ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "tool"
        ? [text(String(last.content)), end()]
        : [toolCall("c", "ask_user", args), end("tool_calls")];
    };
  const options = async (args?: Record<string, unknown>) => ({
    database: await open(),
    script: asking(args),
    tools: [createAskUserTool()],
  });
  async function start(given: HarnessOptions): Promise<Harness> {
    const harness = await startHarness(given);
    running.push(harness);
    return harness;
  }
  async function waiting(harness: Harness, turnId: string) {
    await expect
      .poll(async () => (await harness.turns.read(harness.agentName, turnId)).state, { interval: 20 })
      .toBe("waiting");
    const state = await harness.turns.read(harness.agentName, turnId);
    if (state.state !== "waiting") throw new Error("unreachable");
    return state.question;
  }

  it("waits over a restart, and hands the answer on as data, whatever it says", async () => {
    const doomed = await startHarness(await options());
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    const question = await waiting(doomed, turnId);
    expect(question).toMatchObject({ text: "Which one?", choices: ["red", "blue"] });
    expect(Date.parse(question.expires_at) - Date.now()).toBeGreaterThan(86_000_000);
    await doomed.die();
    const harness = await start({ ...(await options()), ...doomed.next });
    const answer = 'neither "} TOOL_FAILED: x';
    await harness.turns.answer({ agent: harness.agentName, turnId, text: answer, by: "" });
    const result = await harness.turns.wait(harness.agentName, turnId);
    expect(JSON.parse(result.text)).toEqual({ answered: true, answer });
  });

  it("says that nobody answered when the time is over", async () => {
    const harness = await start(await options({ question: "Now?", deadline_minutes: 1 }));
    const { turnId } = await harness.turns.accept(harness.message("go"));
    const { expires_at } = await waiting(harness, turnId);
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(60_000);
    const database = await open();
    await database.query("update turn_questions set expires_at = now() where turn_id = $1", [turnId]);
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe('{"answered":false}');
  });

  it("ends with /stop", async () => {
    const harness = await start(await options());
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await waiting(harness, turnId);
    await harness.command("/stop");
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({
      interrupted: true,
      notice: "Stopped.",
    });
  });

  it("fails at once in a turn that another agent began", async () => {
    const harness = await start({
      ...(await options()),
      moreAgents: ["helper"],
      tools: [
        createAskUserTool(),
        {
          name: "hand",
          description: "hand",
          parameters: { type: "object" },
          execute: async (_args, _signal, context) => ({
            content: (await context?.delegate({ agent: `${context.agent}-helper`, message: "ask" }))?.text ?? "",
          }),
        },
      ],
      script: (request, n) => {
        const last = request.messages.at(-1);
        if (last?.role === "user" && last.content === "go") return [toolCall("h", "hand"), end("tool_calls")];
        return asking()(request, n);
      },
    });
    expect((await harness.say("go")).text).toMatch(/TOOL_REFUSED: This turn was begun by another agent/);
  });

  it("fails at once in a turn of a schedule without a channel, and asks in one that speaks in a chat", async () => {
    const harness = await start(await options());
    const scheduled = (session: string) =>
      harness.turns.accept(harness.message("go", { session, externalId: `schedule:morning:${session}` }));
    const unheard = await scheduled("schedule:morning");
    expect((await harness.turns.wait(harness.agentName, unheard.turnId)).text).toMatch(
      /^TOOL_REFUSED: .*schedule without a channel.* Go on without an answer/,
    );
    const { turnId } = await scheduled("chat");
    await waiting(harness, turnId);
    await harness.turns.answer({ agent: harness.agentName, turnId, text: "red", by: "" });
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe('{"answered":true,"answer":"red"}');
  });

  it.each([
    [{ question: "" }, "question"],
    [{ question: "x".repeat(4_001) }, "question"],
    [{ question: "x", choices: ["a", "a"] }, "choices"],
    [{ question: "x", choices: ["a".repeat(81)] }, "choices"],
    [{ question: "x", deadline_minutes: 43_201 }, "deadline_minutes"],
    [{ question: "x", wait: 1 }, "wait"],
  ])("refuses arguments out of bounds (%#)", async (args, named) => {
    const harness = await start(await options(args));
    const { text: said } = await harness.say("go");
    expect(said).toMatch(/^TOOL_INVALID_ARGUMENTS: /);
    expect(said).toContain(named);
  });
});
