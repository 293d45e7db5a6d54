/** Calls that the owner is asked about: over restarts and nodes, once, for exactly what was shown, and by nobody else. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { approvalCode } from "../../../../runtime/contracts/approvals.ts";
import type { AnyHook } from "../../../../runtime/contracts/hooks.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { createSafetyHooks, type SafetyDeps } from "../../../../runtime/plugins/hooks/safety/index.ts";
import { createAskUserTool } from "../../../../runtime/plugins/tools/ask-user/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/index.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { end, type Harness, type HarnessOptions, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

const RULE = { name: "deploys", tools: ["shell"], pattern: "deploy", action: "ask" as const };

describeDatabase("approvals", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });

  function guards(rules: SafetyDeps["settings"]["rules"] = [RULE]): AnyHook[] {
    return createSafetyHooks({
      settings: { shell_danger: true, workspace_fence: false, audit: false, rules },
      gate: createWorkspaceGate({ protectedPaths: [] }),
      auditFile: { append: async () => {}, status: () => ({ failing: null, lost: 0 }) },
      redact: (value) => value,
      logger: quietLogger,
    });
  }

  /** In place of a shell: notes what would have run. */
  function shell(ran: unknown[]): Tool {
    return {
      name: "shell",
      description: "shell",
      parameters: { type: "object" },
      execute: async ({ command }) => {
        ran.push(command);
        return { content: `ran ${command}` };
      },
    };
  }

  /** Calls the shell with what the user has written, line by line, then says what came of it. */
  const script: HarnessOptions["script"] = ({ messages }) => {
    const from = messages.findLastIndex(({ role, aside }) => role === "user" && !aside);
    const commands = String(messages[from]?.content).split("\n");
    const results = messages.slice(from).filter(({ role }) => role === "tool");
    const command = commands[results.length];
    if (command === undefined) return [text(results.map(({ content }) => content).join("\n")), end()];
    return [toolCall(`c${results.length}`, "shell", { command }), end("tool_calls")];
  };

  async function start(more: Partial<HarnessOptions> = {}) {
    const ran: unknown[] = [];
    const harness = await startHarness({
      database: await open(),
      script,
      tools: [shell(ran)],
      hooks: guards(),
      ...more,
      agent: { tools: { others: { include: ["shell"] } }, ...more.agent },
    });
    running.push(harness);
    return { harness, ran };
  }

  async function pending(harness: Harness, turnId: string) {
    await expect
      .poll(async () => (await harness.turns.read(harness.agentName, turnId)).state, { interval: 20 })
      .toBe("waiting");
    const state = await harness.turns.read(harness.agentName, turnId);
    if (state.state !== "waiting" || !state.question.approval) throw new Error("unreachable");
    return { ...state.question, approval: state.question.approval };
  }

  async function ask(harness: Harness, command: string, extra: Parameters<Harness["message"]>[1] = {}) {
    const { turnId } = await harness.turns.accept(harness.message(command, extra));
    return { turnId, question: await pending(harness, turnId) };
  }

  const result = async (harness: Harness, turnId: string) => (await harness.turns.wait(harness.agentName, turnId)).text;

  const eventsOf = (harness: Harness) =>
    harness.securityEvents.map(({ event, by, details }) => ({ event, by, id: details?.["id"] }));

  it("asks with the exact command and the reason, and runs it once after the owner's word", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    expect(question.approval).toMatchObject({
      tool: "shell",
      call: "command: make deploy",
      reason: expect.stringContaining('rule "deploys"'),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(Date.parse(question.expires_at) - Date.now()).toBeGreaterThan(86_000_000);
    await expect.poll(() => harness.sent).toMatchObject([{ turnId, question: { approval: { tool: "shell" } } }]);
    expect(harness.sent[0]?.text).toContain("```\ncommand: make deploy\n```");
    expect(ran).toEqual([]);
    expect((await harness.command(`/approve ${approvalCode(question.id)}`)).data).toMatchObject({ answered: true });
    expect(await result(harness, turnId)).toBe("ran make deploy");
    expect(ran).toEqual(["make deploy"]);
    expect(eventsOf(harness)).toEqual([
      { event: "approval.asked", by: undefined, id: question.id },
      { event: "approval.approved", by: "owner", id: question.id },
    ]);
    // It counted once: the same call is asked about again.
    const again = await ask(harness, "make deploy");
    expect(again.question.approval.digest).toBe(question.approval.digest);
    await expect(harness.command(`/approve ${question.id}`)).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: "The call was approved already.",
    });
    expect(ran).toHaveLength(1);
  });

  it("counts those that wait, with the age of the oldest, and none that is decided or whose time is over", async () => {
    const { harness } = await start();
    const database = await open();
    const before = (await harness.approvals.waiting()).waiting;
    const { turnId } = await ask(harness, "make deploy");
    await database.query("update turn_questions set created_at = now() - interval '2 days' where turn_id = $1", [
      turnId,
    ]);
    const { waiting, oldest_waiting_ms: age } = await harness.approvals.waiting();
    expect(waiting).toBe(before + 1);
    expect(age).toBeGreaterThanOrEqual(2 * 86_400_000);
    await harness.command("/deny");
    const after = await harness.approvals.waiting();
    expect(after.waiting).toBe(before);
    expect(after.oldest_waiting_ms ?? 0).toBeLessThan(86_400_000);
    const late = await ask(harness, "make deploy again");
    await database.query("update turn_questions set expires_at = now() where turn_id = $1", [late.turnId]);
    expect((await harness.approvals.waiting()).waiting).toBe(before);
  });

  it("refuses what the owner denies, and says so to the model", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    expect((await harness.command("/deny")).text).toBe("The call of shell is denied.");
    expect(await result(harness, turnId)).toMatch(/^TOOL_REFUSED: .*rule "deploys".*the owner has denied it/);
    expect(ran).toEqual([]);
    expect(eventsOf(harness).at(-1)).toEqual({ event: "approval.denied", by: "owner", id: question.id });
  });

  it("refuses what nobody has decided in time", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    const database = await open();
    await database.query("update turn_questions set expires_at = now() where turn_id = $1", [turnId]);
    expect((await harness.approvals.pending({ limit: 50 })).approvals.map(({ id }) => id)).not.toContain(question.id);
    await expect(harness.command(`/approve ${question.id}`)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await result(harness, turnId)).toMatch(/^TOOL_REFUSED: .*nobody approved it in time/);
    expect(ran).toEqual([]);
    expect(eventsOf(harness).at(-1)).toEqual({ event: "approval.expired", by: undefined, id: question.id });
  });

  it("takes no sentence, no answer and no steer for an approval", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    const next = await harness.turns.accept(harness.message("yes, approve"));
    await harness.command("/steer approved, go on");
    await expect(harness.command("/answer approve")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    const given = { agent: harness.agentName, turnId, by: "", questionId: question.id };
    for (const said of ["approved", "approve", "yes"]) {
      await expect(harness.turns.answer({ ...given, text: said })).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    }
    expect((await harness.turns.read(harness.agentName, turnId)).state).toBe("waiting");
    expect((await harness.turns.read(harness.agentName, next.turnId)).state).toBe("queued");
    expect(ran).toEqual([]);
  });

  it("takes no answer that an older version has stored for an approval", async () => {
    const { harness, ran } = await start();
    const { turnId } = await ask(harness, "make deploy");
    const database = await open();
    await database.query(
      `with answered as (update turn_questions set state = 'answered', answer = 'approved', answered_by = '', answered_at = now()
         where turn_id = $1 returning turn_id)
       update turns t set state = 'queued' from answered where t.id = answered.turn_id`,
      [turnId],
    );
    expect(await result(harness, turnId)).toMatch(/^TOOL_REFUSED/);
    expect(ran).toEqual([]);
  });

  /** As its platform brings it, `id` being the message's own there. */
  const approveIn = (harness: Harness, id: string) =>
    harness.commands.run({
      address: { channel: harness.channel.id, conversation: "s1", user: "" },
      agent: harness.agentName,
      line: "/approve",
      owner: true,
      externalId: id,
    });

  /** What the turn asks has been there long enough to be read. */
  async function age(turnId: string): Promise<void> {
    const database = await open();
    await database.query("update turn_questions set created_at = now() - interval '1 minute' where turn_id = $1", [
      turnId,
    ]);
  }

  it("takes an /approve that its platform brings again for no word about the next call", async () => {
    const { harness, ran } = await start();
    const { turnId } = await ask(harness, "make deploy\nmake deploy-all");
    await age(turnId);
    await approveIn(harness, "7");
    await expect.poll(() => ran).toEqual(["make deploy"]);
    await pending(harness, turnId);
    await age(turnId);
    await expect(approveIn(harness, "7")).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: "The call was approved already.",
    });
    expect(ran).toEqual(["make deploy"]);
    await approveIn(harness, "8");
    await expect.poll(() => ran).toEqual(["make deploy", "make deploy-all"]);
  });

  it("takes an /approve that comes again once its turn has ended for no word about the next turn's call", async () => {
    const { harness, ran } = await start();
    const first = await ask(harness, "make deploy");
    const next = await harness.turns.accept(harness.message("make deploy-production"));
    await age(first.turnId);
    await approveIn(harness, "7");
    await result(harness, first.turnId);
    await pending(harness, next.turnId);
    await age(next.turnId);
    await expect(approveIn(harness, "7")).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: "The call was approved already.",
    });
    expect((await harness.turns.read(harness.agentName, next.turnId)).state).toBe("waiting");
    expect(ran).toEqual(["make deploy"]);
    await approveIn(harness, "8");
    expect(await result(harness, next.turnId)).toBe("ran make deploy-production");
    await expect(approveIn(harness, "8")).rejects.toMatchObject({ message: "The call was approved already." });
  });

  it("wants the id where nobody can have read yet what waits", async () => {
    const { harness, ran } = await start();
    const first = await ask(harness, "make deploy\nmake deploy-all");
    await expect(harness.command("/approve")).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      details: { hint: expect.stringContaining(`/approve ${approvalCode(first.question.id)}`) },
    });
    const database = await open();
    await database.query("update turn_questions set created_at = now() - interval '1 minute' where turn_id = $1", [
      first.turnId,
    ]);
    await harness.command("/approve");
    await expect.poll(() => ran).toEqual(["make deploy"]);
    const second = await pending(harness, first.turnId);
    expect(second.approval.call).toBe("command: make deploy-all");
    // The same word twice, since the first seemed to be lost.
    await expect(harness.command("/approve")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    await expect(harness.command(`/approve ${first.question.id}`)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(ran).toEqual(["make deploy"]);
  });

  it("asks the owner alone: another user's turn is refused at once, and another user decides nothing", async () => {
    const { harness, ran } = await start();
    const other = { owner: false, address: { channel: harness.channel.id, conversation: "s2", user: "ann" } };
    expect((await harness.say("make deploy", other)).text).toMatch(/^TOOL_REFUSED: .*Only the owner approves/);
    const { turnId, question } = await ask(harness, "make deploy");
    for (const line of [`/approve ${question.id}`, `/approve ${approvalCode(question.id)} always`, "/deny"]) {
      await expect(harness.command(line, "s1", "ann")).rejects.toMatchObject({ code: "RUNTIME_FORBIDDEN" });
    }
    expect((await harness.turns.read(harness.agentName, turnId)).state).toBe("waiting");
    expect(ran).toEqual([]);
  });

  it("is refused at once in a turn that another agent began, and in one of a schedule without a channel", async () => {
    const ran: unknown[] = [];
    const hand: Tool = {
      name: "hand",
      description: "hand",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => ({
        content: (await context?.spawn({ message: "make deploy" }))?.text ?? "",
      }),
    };
    const { harness } = await start({
      tools: [shell(ran), hand],
      script: (request, n) => {
        const first = request.messages.find(({ role }) => role === "user");
        if (first?.content !== "hand it on") return script(request, n);
        const last = request.messages.at(-1);
        return last?.role === "tool" ? [text(String(last.content)), end()] : [toolCall("h", "hand"), end("tool_calls")];
      },
    });
    expect((await harness.say("hand it on")).text).toMatch(/^TOOL_REFUSED: This turn was begun by another agent/);
    expect(ran).toEqual([]);
    const schedule = { session: "schedule:morning", externalId: "schedule:morning:1" };
    expect((await harness.say("make deploy", schedule)).text).toMatch(/^TOOL_REFUSED: .*schedule without a channel/);
  });

  it("repeats exactly what was approved for good, for that agent and the owner alone, until it is revoked", async () => {
    const { harness, ran } = await start({ moreAgents: ["other"] });
    const { turnId, question } = await ask(harness, "make deploy");
    await harness.command(`/approve ${approvalCode(question.id)} always`);
    await result(harness, turnId);
    expect((await harness.say("make deploy")).text).toBe("ran make deploy");
    const wider = await ask(harness, "make deploy ");
    expect(wider.question.approval.digest).not.toBe(question.approval.digest);
    const other = { owner: false, address: { channel: harness.channel.id, conversation: "s2", user: "ann" } };
    expect((await harness.say("make deploy", other)).text).toMatch(/^TOOL_REFUSED/);
    const elsewhere = await harness.turns.accept(
      harness.message("make deploy", { agent: `${harness.agentName}-other`, session: "s3" }),
    );
    await expect
      .poll(async () => (await harness.turns.read(`${harness.agentName}-other`, elsewhere.turnId)).state)
      .toBe("waiting");
    const all = await harness.approvals.standing({ limit: 200 });
    const [mine] = all.approvals.filter(({ agent }) => agent === harness.agentName);
    expect(mine).toMatchObject({ tool: "shell", call: "command: make deploy", approved_by: "owner" });
    await harness.approvals.revoke(mine?.id ?? "", { name: "ops" });
    await expect(harness.approvals.revoke(mine?.id ?? "", { name: "ops" })).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
    });
    expect(eventsOf(harness).at(-1)).toMatchObject({ event: "approval.revoked", by: "ops" });
    await harness.command("/deny");
    await result(harness, wider.turnId);
    await ask(harness, "make deploy");
    expect(ran).toEqual(["make deploy", "make deploy"]);
  });

  it("is asked about again where the reason is another, though it stands", async () => {
    const { harness } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    await harness.command(`/approve ${question.id} always`);
    await result(harness, turnId);
    await harness.stop();
    running.length = 0;
    const { harness: stricter } = await start({
      hooks: guards([{ ...RULE, message: "Ask ops first." }]),
      ...harness.next,
    });
    const again = await ask(stricter, "make deploy");
    expect(again.question.approval.reason).toContain("Ask ops first");
  });

  it("asks for each reason, and once for all of them", async () => {
    const { harness, ran } = await start({ hooks: guards([RULE, { ...RULE, name: "production", pattern: "prod" }]) });
    const { turnId, question } = await ask(harness, "make deploy prod");
    await harness.command(`/approve ${question.id}`);
    await expect.poll(async () => (await pending(harness, turnId)).approval.reason).toContain('rule "production"');
    expect(ran).toEqual([]);
    await harness.command(`/approve ${(await pending(harness, turnId)).id}`);
    expect(await result(harness, turnId)).toBe("ran make deploy prod");
  });

  it("holds for what was shown: a call that differs by then is asked about again", async () => {
    let stage = "staging";
    const changing: AnyHook = {
      name: "stage",
      event: "tool:before",
      priority: 5,
      run: async (context) => ({
        ...context,
        call: { ...context.call, arguments: { command: `${context.call.arguments["command"]} ${stage}` } },
      }),
    };
    const { harness, ran } = await start({ hooks: [changing, ...guards()] });
    const { turnId, question } = await ask(harness, "make deploy");
    expect(question.approval.call).toBe("command: make deploy staging");
    stage = "production";
    await harness.command(`/approve ${question.id}`);
    await expect
      .poll(async () => (await pending(harness, turnId)).approval.call)
      .toBe("command: make deploy production");
    expect(ran).toEqual([]);
  });

  it("lets no hook change what was approved", async () => {
    const changing: AnyHook = {
      name: "late",
      event: "tool:before",
      priority: 50,
      run: async (context) => ({ ...context, call: { ...context.call, arguments: { command: "rm -rf /" } } }),
    };
    const { harness, ran } = await start({ hooks: [changing, ...guards()] });
    const { turnId, question } = await ask(harness, "make deploy");
    await harness.command(`/approve ${question.id}`);
    expect(await result(harness, turnId)).toMatch(/^TOOL_REFUSED: A hook has changed the call/);
    expect(ran).toEqual([]);
  });

  it("waits over a restart, and goes on with a word that another node was given", async () => {
    const ran: unknown[] = [];
    const options = async () => ({ database: await open(), script, tools: [shell(ran)], hooks: guards() });
    const doomed = await startHarness(await options());
    const { turnId, question } = await ask(doomed, "make deploy");
    await doomed.die();
    const { harness } = await start({ ...(await options()), ...doomed.next });
    const { harness: other } = await start();
    const listed = (await other.approvals.pending({ limit: 200 })).approvals.find(({ id }) => id === question.id);
    expect(listed).toMatchObject({
      agent: harness.agentName,
      turn_id: turnId,
      conversation: "s1",
      ...question.approval,
    });
    await other.approvals.decide({ id: question.id, decision: "approved", always: false, by: { name: "ops" } });
    expect(await result(harness, turnId)).toBe("ran make deploy");
    expect(ran).toEqual(["make deploy"]);
  });

  it("counts one of two words that are given at once on two nodes", async () => {
    const { harness, ran } = await start();
    const { harness: other } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    const decide = (from: Harness, decision: "approved" | "denied") =>
      from.approvals.decide({ id: question.id, decision, always: false, by: { name: "ops" } });
    // Both have begun before either can end.
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const holding = (await open()).transaction(async (tx) => {
      await tx.query("select 1 from turns where id = $1 for update", [turnId]);
      held.resolve();
      await released.promise;
    });
    await held.promise;
    const deciding = Promise.allSettled([decide(harness, "denied"), decide(other, "approved")]);
    await sleep(300);
    released.resolve();
    await holding;
    const outcomes = await deciding;
    const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.decision] : []));
    expect(won).toHaveLength(1);
    await result(harness, turnId);
    expect(ran).toHaveLength(won[0] === "approved" ? 1 : 0);
  });

  it("ends with /stop, and decides nothing afterwards", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    await harness.command("/stop");
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ interrupted: true });
    await expect(harness.command(`/approve ${question.id}`)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(ran).toEqual([]);
    expect((await harness.command("/approve")).text).toBe("Nothing waits for an approval here.");
  });

  it("refuses known danger without a question, approved or not", async () => {
    const { harness, ran } = await start({ hooks: guards([{ ...RULE, pattern: "rm" }]) });
    const { turnId, question } = await ask(harness, "rm -r build");
    await harness.command(`/approve ${question.id} always`);
    await result(harness, turnId);
    expect((await harness.say("rm -rf /")).text).toMatch(/^TOOL_REFUSED: .*whole file system/);
    expect(ran).toEqual(["rm -r build"]);
  });

  it("is not asked for what is too long to be shown whole", async () => {
    const { harness } = await start();
    expect((await harness.say(`make deploy ${"x".repeat(9_000)}`)).text).toMatch(
      /^TOOL_REFUSED: .*too long to be shown/,
    );
  });

  it("does not mix up an approval and a question of the same call", async () => {
    const { harness } = await start({
      tools: [createAskUserTool()],
      hooks: guards([{ ...RULE, tools: ["ask_user"], pattern: "Which" }]),
      script: ({ messages }) => {
        const last = messages.at(-1);
        return last?.role === "tool"
          ? [text(String(last.content)), end()]
          : [toolCall("c", "ask_user", { question: "Which one?" }), end("tool_calls")];
      },
    });
    const { turnId, question } = await ask(harness, "go");
    await harness.command(`/approve ${question.id}`);
    await expect
      .poll(async () => {
        const state = await harness.turns.read(harness.agentName, turnId);
        return state.state === "waiting" ? state.question.text : null;
      })
      .toBe("Which one?");
    await harness.command("/answer red");
    expect(await result(harness, turnId)).toBe('{"answered":true,"answer":"red"}');
  });

  it("wants the whole id where several that wait end with the same digits", async () => {
    const { harness, ran } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    const code = approvalCode(question.id);
    const database = await open();
    await database.query(
      `insert into turn_questions (id, turn_id, n, ordinal, question, approval, expires_at)
       select ('00000000-0000-4000-8000-0000' || $2)::uuid, turn_id, 1000, 0, question, approval, expires_at
       from turn_questions where id = $1`,
      [question.id, code],
    );
    await expect(harness.command(`/approve ${code}`)).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
      message: "Several approvals have this id.",
    });
    await database.query("delete from turn_questions where turn_id = $1 and n = 1000", [turnId]);
    await harness.command(`/approve ${question.id}`);
    expect(await result(harness, turnId)).toBe("ran make deploy");
    expect(ran).toEqual(["make deploy"]);
  });

  it("lists ten thousand of them page by page", async () => {
    const { harness } = await start();
    const { turnId, question } = await ask(harness, "make deploy");
    const database = await open();
    await database.query(
      `insert into turn_questions (id, turn_id, n, ordinal, question, approval, expires_at)
       select ('00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, turn_id, 1000, i, question, approval, expires_at
       from turn_questions, generate_series(1, 10000) i where turn_id = $1 and id = $2`,
      [turnId, question.id],
    );
    let after: string | undefined;
    const seen = new Set<string>();
    do {
      const page = await harness.approvals.pending({ limit: 200, after });
      expect(page.approvals.length).toBeLessThanOrEqual(200);
      for (const { id } of page.approvals) seen.add(id);
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen.size).toBeGreaterThanOrEqual(10_001);
    expect(seen).toContain(question.id);
    await database.query("delete from turn_questions where turn_id = $1 and n = 1000", [turnId]);
  });

  it.each(["/approve nothing", "/approve 12345678 for-ever", "/deny 12345678 always"])(
    "does not take %s",
    async (line) => {
      const { harness } = await start();
      await expect(harness.command(line)).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
      await expect(harness.command("/approve 12345678")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    },
  );
});
