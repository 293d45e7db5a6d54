/** A turn that waits for an answer: over restarts, woken by the answer, the deadline or /stop; nothing that was done is done again. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { MemoryError, ToolError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook, HookEvent } from "../../../../runtime/contracts/hooks.ts";
import type { StreamEvent } from "../../../../runtime/contracts/stream.ts";
import type { Question, Tool, ToolContext } from "../../../../runtime/contracts/tool.ts";
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

describeDatabase("turns that wait for an answer", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    const harness = await startHarness({ database: await open(), ...options });
    running.push(harness);
    return harness;
  }
  /** Dies in the test. */
  async function startDoomed(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    return startHarness({ database: await open(), ...options });
  }

  /** A tool that asks, and one that counts what really happened. */
  function asking(question: Partial<Question> = {}) {
    const counts = { begun: 0, acted: 0 };
    const ask: Tool = {
      name: "ask",
      description: "ask",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        counts.begun++;
        const answer = await context?.ask({ text: "Which one?", ...question });
        return { content: answer?.kind === "answered" ? `answer: ${answer.text}` : "nobody answered" };
      },
    };
    const act: Tool = {
      name: "act",
      description: "act",
      parameters: { type: "object" },
      execute: async () => ({ content: `acted ${++counts.acted}` }),
    };
    return { counts, tools: [ask, act] };
  }

  /** Acts, asks and acts again, then says what it has read. */
  const script: HarnessOptions["script"] = ({ messages }) => {
    const ownFrom = messages.findLastIndex(({ role }) => role === "user");
    const own = messages.slice(ownFrom).filter(({ role }) => role === "tool");
    const results = own.map(({ content }) => String(content));
    if (messages.at(-1)?.role === "user") return [text("On it."), toolCall("c1", "act"), end("tool_calls")];
    if (results.length === 1) return [toolCall("c2", "ask"), toolCall("c3", "act"), end("tool_calls")];
    return [text(results.join(", ")), end()];
  };

  async function waiting(harness: Harness, turnId: string) {
    await expect
      .poll(async () => (await harness.turns.read(harness.agentName, turnId)).state, { interval: 20 })
      .toBe("waiting");
    const state = await harness.turns.read(harness.agentName, turnId);
    if (state.state !== "waiting") throw new Error("unreachable");
    return state.question;
  }

  async function ask(harness: Harness, extra: Parameters<Harness["message"]>[1] = {}) {
    const { turnId } = await harness.turns.accept(harness.message("go", extra));
    return { turnId, question: await waiting(harness, turnId) };
  }

  const answer = (harness: Harness, turnId: string, said: string, questionId?: string, by = "") =>
    harness.turns.answer({
      agent: harness.agentName,
      turnId,
      text: said,
      by,
      ...(questionId === undefined ? {} : { questionId }),
    });

  it("goes on with the answer: what was done before is not done again, and nobody is told of an interruption", async () => {
    const { counts, tools } = asking({ choices: ["red", "blue"] });
    const harness = await start({ script, tools });
    const { turnId, question } = await ask(harness);
    expect(question).toMatchObject({ text: "Which one?", choices: ["red", "blue"] });
    expect(Date.parse(question.expires_at) - Date.now()).toBeGreaterThan(86_000_000);
    expect(counts).toEqual({ begun: 1, acted: 1 });
    expect(harness.dispatcher.activeTurns).toBe(0);

    expect(await answer(harness, turnId, "red", question.id)).toEqual({ questionId: question.id });
    const result = await harness.turns.wait(harness.agentName, turnId);
    expect(result).toMatchObject({ text: "On it.\n\nacted 1, answer: red, acted 2", interrupted: false });
    expect(counts).toEqual({ begun: 2, acted: 2 });
    // Three replies, each asked for once.
    expect(harness.requests).toHaveLength(3);
    const rows = await harness.transcript();
    expect(
      rows.map(({ role, content, tool_name, tool_result }) => tool_result ?? `${role}: ${content || tool_name}`),
    ).toEqual([
      "user: go",
      "assistant: On it.",
      "acted 1",
      "answer: red",
      "acted 2",
      "assistant: acted 1, answer: red, acted 2",
    ]);
  });

  it("brings the question to the user once, through the outbox, before the reply", async () => {
    const { tools } = asking({ choices: ["yes"] });
    const harness = await start({ script, tools });
    const { turnId, question } = await ask(harness);
    await expect
      .poll(() => harness.sent)
      .toMatchObject([
        { turnId, text: "On it." },
        { turnId, text: "Which one?", question },
      ]);
    await answer(harness, turnId, "yes");
    await harness.turns.wait(harness.agentName, turnId);
    await expect.poll(() => harness.sent).toHaveLength(3);
    expect(harness.sent[2]).toMatchObject({ turnId, text: expect.stringMatching(/^acted 1, answer: yes/) });
    expect(harness.sent[2]?.question).toBeUndefined();
  });

  it("takes an answer that names its question for that one alone", async () => {
    const { tools } = asking();
    const harness = await start({ script, tools });
    const { turnId, question } = await ask(harness);
    const given = (id: string) => harness.command("/answer this", "s1", "", id);
    await expect(given("01a21ad9-dd03-7004-ab96-6405a09e8069")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect((await harness.turns.read(harness.agentName, turnId)).state).toBe("waiting");
    expect((await given(question.id)).data).toMatchObject({ answered: true });
    await harness.turns.wait(harness.agentName, turnId);
    expect((await given(question.id)).data).toEqual({ answered: false });
  });

  it("tells who follows: the question, then the turn from its start, also a follower that comes later", async () => {
    const { tools } = asking();
    const harness = await start({ script, tools });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    const early = harness.events(turnId);
    await waiting(harness, turnId);
    const late = harness.events(turnId);
    await sleep(50);
    await answer(harness, turnId, "this");
    const names = (events: readonly StreamEvent[]) =>
      events.map(({ type }) => type).filter((type) => type === "turn.waiting" || type.startsWith("turn."));
    for (const events of [await early, await late]) {
      expect(names(events)).toEqual(["turn.started", "turn.waiting", "turn.started", "turn.finished"]);
      expect(events.find(({ type }) => type === "turn.waiting")).toMatchObject({ question: { text: "Which one?" } });
    }
  });

  it("tells who follows each question once and in order, also one who comes back while the turn waits", async () => {
    const asker: Tool = {
      name: "ask",
      description: "ask",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        await context?.ask({ text: "First?" });
        await context?.ask({ text: "Second?" });
        return { content: "done" };
      },
    };
    const harness = await start({
      script: ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? [text("Done."), end()]
          : [text("On it."), toolCall("c", "ask"), end("tool_calls")],
      tools: [asker],
    });
    const { turnId, question } = await ask(harness);
    /** Follows from after the event with this id until a question is asked; the id of that event. */
    const untilAsked = async (after: number) => {
      for await (const { id, event } of harness.turns.events(harness.agentName, turnId, after)) {
        if (event.type === "turn.waiting") return id;
      }
      return Number.NaN;
    };
    let last = 0;
    for (let visit = 0; visit < 5; visit++) last = await untilAsked(last);
    const followed: string[] = [];
    const following = (async () => {
      for await (const { event } of harness.turns.events(harness.agentName, turnId, last)) {
        followed.push(event.type === "turn.waiting" ? event.question.text : event.type);
      }
    })();
    // Long enough that the row was looked at, too.
    await sleep(700);
    await answer(harness, turnId, "one", question.id);
    await expect.poll(async () => waiting(harness, turnId)).toMatchObject({ text: "Second?" });
    await sleep(700);
    await answer(harness, turnId, "two");
    await following;
    expect(followed).toEqual([
      "First?",
      "turn.started",
      "text.delta",
      "tool.started",
      "Second?",
      "turn.started",
      "text.delta",
      "tool.started",
      "tool.finished",
      "text.delta",
      "text.delta",
      "turn.finished",
    ]);
  });

  it.each(["asked", "answered while down", "deadline passed while down", "stopped while down"])(
    "is kept over a restart: %s",
    async (moment) => {
      const { counts, tools } = asking({ deadlineMs: moment.startsWith("deadline") ? 200 : 600_000 });
      const doomed = await startDoomed({ script, tools });
      const { turnId, question } = await ask(doomed);
      await doomed.die();
      if (moment === "answered while down") await answer(doomed, turnId, "red");
      if (moment === "stopped while down") await doomed.store.waiting.stop(sessionOf(doomed));
      if (moment === "deadline passed while down") await sleep(300);

      const next = await start({ script, tools, ...doomed.next });
      if (moment === "asked") {
        // Asked before this process: a follower is told all the same.
        const events: StreamEvent[] = [];
        for await (const { event } of next.turns.events(next.agentName, turnId)) {
          events.push(event);
          if (event.type === "turn.waiting") await answer(next, turnId, "red", event.question.id);
        }
        expect(events[0]).toMatchObject({ type: "turn.waiting", question });
      }
      const result = await next.turns.wait(next.agentName, turnId);
      if (moment === "stopped while down") {
        expect(result).toMatchObject({ text: "On it.", interrupted: true, notice: "Stopped." });
        expect(counts).toEqual({ begun: 1, acted: 1 });
      } else {
        const said = moment.startsWith("deadline") ? "nobody answered" : "answer: red";
        expect(result).toMatchObject({ text: `On it.\n\nacted 1, ${said}, acted 2`, interrupted: false });
        expect(counts).toEqual({ begun: 2, acted: 2 });
      }
    },
  );

  it.each([
    ["before its question was sent", 0],
    ["while its question was being sent", 1],
  ])("asks after the restart of a process that was killed %s", async (moment, tries) => {
    const { tools } = asking();
    const stored = Promise.withResolvers<void>();
    const sending = Promise.withResolvers<void>();
    const send = async () => {
      sending.resolve();
      return hang();
    };
    const doomed = await startDoomed({ script, tools, send });
    const { waiting: store } = doomed.store;
    const begin = store.begin.bind(store);
    store.begin = async (...args) => {
      const question = await begin(...args);
      stored.resolve();
      return tries === 0 ? hang() : question;
    };
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await stored.promise;
    if (tries > 0) await sending.promise;
    await doomed.die();
    expect(doomed.sent, moment).toHaveLength(tries);
    const database = await open();
    // A message that is being sent is its sender's for a minute.
    await database.query("update outbox set next_attempt_at = now() where turn_id = $1 and attempts > 0", [turnId]);

    const next = await start({ script, tools, ...doomed.next });
    const question = await waiting(next, turnId);
    await expect
      .poll(() => next.sent)
      .toMatchObject([
        { turnId, text: "On it." },
        { turnId, text: "Which one?", question },
      ]);
    await answer(next, turnId, "red", question.id);
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({ interrupted: false });
    // The reply, and no second question.
    await expect.poll(() => next.sent).toHaveLength(3);
    expect(next.sent[2]?.question).toBeUndefined();
  });

  const sessionOf = (harness: Harness) => `${harness.agentName}:${harness.channel.id}:s1:`;

  it("ends its wait at the deadline of the question, without the turn's own deadline", async () => {
    const { tools } = asking({ deadlineMs: 4_500 });
    const harness = await start({ script, tools, limits: { turnTimeoutMs: 3_000 } });
    const { turnId } = await ask(harness);
    await sleep(3_200);
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ state: "waiting" });
    const result = await harness.turns.wait(harness.agentName, turnId);
    expect(result).toMatchObject({ text: "On it.\n\nacted 1, nobody answered, acted 2", interrupted: false });
  });

  it("takes the first answer; the same again is no other one, and another is refused", async () => {
    const { tools } = asking();
    const harness = await start({ script, tools });
    const { turnId, question } = await ask(harness);
    const answers = await Promise.allSettled(
      ["red", "blue", "green", "white"].map((said) => answer(harness, turnId, said, question.id)),
    );
    const taken = answers.findIndex(({ status }) => status === "fulfilled");
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of answers.filter((given) => given.status === "rejected")) {
      expect(one.reason).toMatchObject({
        code: "RUNTIME_CONFLICT",
        message: "The question was answered already.",
        details: { turnId },
      });
    }
    const first = ["red", "blue", "green", "white"][taken] ?? "";
    await expect(answer(harness, turnId, first, question.id)).resolves.toEqual({ questionId: question.id });
    await expect(answer(harness, turnId, first, question.id, "bob")).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
    });
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toContain(`answer: ${first}`);
    await expect(answer(harness, turnId, "late", question.id)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
  });

  it("is answered, read and followed as its own agent's alone", async () => {
    const { tools } = asking();
    const harness = await startDoomed({ script, tools, moreAgents: ["other"] });
    const { turnId, question } = await ask(harness);
    const { turnId: fresh } = await harness.turns.accept(harness.message("go", { session: "s2" }));
    const other = `${harness.agentName}-other`;
    const unknown = { code: "RUNTIME_TURN_UNKNOWN" };
    const given = { agent: other, turnId, text: "red", by: "" };
    await expect(harness.turns.answer(given)).rejects.toMatchObject(unknown);
    await expect(harness.turns.answer({ ...given, questionId: question.id })).rejects.toMatchObject(unknown);
    await expect(harness.turns.wait(other, turnId)).rejects.toMatchObject(unknown);
    await expect(harness.turns.read(other, turnId)).rejects.toMatchObject(unknown);
    for (const id of [turnId, fresh]) {
      await expect(harness.turns.events(other, id)[Symbol.asyncIterator]().next()).rejects.toMatchObject(unknown);
    }
    await waiting(harness, fresh);
    await harness.die();
    // Nor does a node that hosts only the other agent end its wait.
    const database = await open();
    await database.query("update turn_questions set expires_at = now() - interval '1 s' where id = $1", [question.id]);
    await harness.store.waiting.expire([other]);
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ state: "waiting" });
    await harness.store.waiting.expire([harness.agentName]);
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ state: "queued" });
  });

  it("is shown to nobody before its question is stored", async () => {
    const { tools } = asking();
    const harness = await startDoomed({ script, tools });
    const begun = Promise.withResolvers<void>();
    harness.store.waiting.begin = async () => {
      begun.resolve();
      throw new MemoryError("MEMORY_QUERY_FAILED", "The statement failed.");
    };
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await begun.promise;
    await expect.poll(() => harness.dispatcher.activeTurns).toBe(0);
    expect([...harness.hub.since(turnId, 0)].map(({ event }) => event.type)).not.toContain("turn.waiting");
    expect(harness.sent).toEqual([]);
    await harness.die();
    const next = await start({ script, tools, ...harness.next });
    expect((await next.turns.wait(next.agentName, turnId)).text).toContain("TOOL_OUTCOME_UNKNOWN");
    expect(next.sent.filter(({ question }) => question !== undefined)).toEqual([]);
  });

  it("refuses an answer that comes too late, to a turn that asks nothing, and to no turn", async () => {
    const { tools } = asking({ deadlineMs: 100 });
    const harness = await start({ script, tools });
    const { turnId, question } = await ask(harness);
    await sleep(150);
    await expect(answer(harness, turnId, "late", question.id)).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: "The time to answer the question is over.",
    });
    await harness.turns.wait(harness.agentName, turnId);
    const other = await harness.turns.accept(harness.message("go", { session: "s2" }));
    for (const none of ["0197c0de-0000-7000-8000-000000000001", "", "first", "\0"]) {
      await expect(answer(harness, turnId, "x", none)).rejects.toMatchObject({
        code: "RUNTIME_CONFLICT",
        message: "The turn has not asked this.",
      });
    }
    await expect(answer(harness, "no-turn", "x")).rejects.toMatchObject({ code: "RUNTIME_TURN_UNKNOWN" });
    await harness.turns.wait(harness.agentName, other.turnId);
  });

  it("holds messages of its session back, which run after it, and no other session's", async () => {
    const { tools } = asking();
    const order: string[] = [];
    const harness = await start({
      script: (request, call) => {
        const last = request.messages.at(-1);
        if (last?.role === "user" && last.content !== "go") {
          order.push(String(last.content));
          return [text(`re: ${String(last.content)}`), end()];
        }
        return script(request, call);
      },
      tools,
    });
    const { turnId } = await ask(harness);
    const behind = await harness.turns.accept(harness.message("behind"));
    expect((await harness.say("elsewhere", { session: "s2" })).text).toBe("re: elsewhere");
    expect(await harness.turns.read(harness.agentName, behind.turnId)).toMatchObject({ state: "queued" });
    expect(order).toEqual(["elsewhere"]);
    // The answer does not wait behind it.
    await answer(harness, turnId, "red");
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toContain("answer: red");
    expect((await harness.turns.wait(harness.agentName, behind.turnId)).text).toBe("re: behind");
  });

  it("takes no place among the turns that run", async () => {
    const { tools } = asking();
    const limits = { maxActiveTurns: 1, maxTurnsOfOthers: 1, maxTurnsOfOneUser: 1 };
    const harness = await start({ script, tools, limits });
    const { turnId } = await ask(harness);
    const second = await ask(harness, { session: "s2" });
    expect(await harness.store.open()).toContainEqual({ agent: harness.agentName, running: 0, waiting: 2, queued: 0 });
    await answer(harness, second.turnId, "two");
    await harness.turns.wait(harness.agentName, second.turnId);
    await answer(harness, turnId, "one");
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toContain("answer: one");
  });

  it.each(["/stop", "/interrupt urgent", "/new"])("ends at %s, with what it had said", async (line) => {
    const { counts, tools } = asking();
    const harness = await start({
      script: (request, call) =>
        request.messages.at(-1)?.content === "urgent" ? [text("re: urgent"), end()] : script(request, call),
      tools,
    });
    const { turnId, question } = await ask(harness);
    const behind = await harness.turns.accept(harness.message("go"));
    const { data } = await harness.command(line);
    expect(data).toMatchObject(line.startsWith("/interrupt") ? { interrupted: true } : { stopped: true });
    // The command has seen it end.
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ state: "finished" });
    const stopped = await harness.turns.wait(harness.agentName, turnId);
    expect(stopped).toMatchObject({ text: "On it.", interrupted: true, notice: "Stopped." });
    // Of the two replies before the question.
    expect(stopped.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    await expect(answer(harness, turnId, "late", question.id)).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: "The turn does not wait for an answer any more.",
    });
    if (line.startsWith("/interrupt")) {
      expect((await harness.turns.wait(harness.agentName, String(data?.turn_id))).text).toBe("re: urgent");
    }
    await waiting(harness, behind.turnId);
    expect(counts).toEqual({ begun: 2, acted: 2 });
    await harness.command("/stop");
    await harness.turns.wait(harness.agentName, behind.turnId);
  });

  it.each(["/stop here", "/stop of another node", "/interrupt of another node"])(
    "does not begin to wait where it is stopped in that very moment: %s",
    async (moment) => {
      const { tools } = asking();
      const harness = await start({
        script: (request, call) =>
          request.messages.at(-1)?.content === "urgent" ? [text("re: urgent"), end()] : script(request, call),
        tools,
      });
      const { waiting: store } = harness.store;
      const begin = store.begin.bind(store);
      const began = Promise.withResolvers<void>();
      let stopping: Promise<unknown> = Promise.resolve();
      store.begin = async (...args) => {
        if (moment === "/stop here") stopping = harness.command("/stop");
        else if (moment.startsWith("/stop")) await harness.store.requestAbort(sessionOf(harness));
        else await harness.inbox.accept(harness.message("urgent"), 1);
        began.resolve();
        return begin(...args);
      };
      const { turnId } = await harness.turns.accept(harness.message("go"));
      await began.promise;
      await stopping;
      if (moment === "/stop here")
        expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({ state: "finished" });
      const stopped = await harness.turns.wait(harness.agentName, turnId);
      expect(stopped).toMatchObject({ text: "On it.", interrupted: true, notice: "Stopped." });
      await expect(answer(harness, turnId, "red")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
      if (moment.startsWith("/interrupt")) await expect.poll(() => harness.sent.at(-1)?.text).toBe("re: urgent");
    },
  );

  it("is stopped alone, although the turn behind it begins before the command looks again", async () => {
    const { tools } = asking();
    const harness = await start({
      script: (request, call) =>
        request.messages.at(-1)?.content === "behind" ? hang(request.options.signal) : script(request, call),
      tools,
    });
    await ask(harness);
    const behind = await harness.turns.accept(harness.message("behind"));
    const { waiting: store } = harness.store;
    const stop = store.stop.bind(store);
    store.stop = async (...args) => {
      const woken = await stop(...args);
      harness.dispatcher.kick();
      await expect.poll(() => harness.dispatcher.runningTurn(sessionOf(harness))?.turnId).toBe(behind.turnId);
      return woken;
    };
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    store.stop = stop;
    expect(await harness.turns.read(harness.agentName, behind.turnId)).toMatchObject({ state: "running" });
  });

  it("does not hold a drain, and goes on at the next start", async () => {
    const { tools } = asking();
    const harness = await startDoomed({ script, tools });
    const { turnId } = await ask(harness);
    const began = performance.now();
    await harness.drain(60_000);
    expect(performance.now() - began).toBeLessThan(30_000);
    // Durable although nobody runs it now.
    await answer(harness, turnId, "red");
    await harness.die();
    const next = await start({ script, tools, ...harness.next });
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({ interrupted: false });
  });

  it("begins to wait also where the node shuts down while it asks", async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { tools } = asking();
    const slow = tools.map((tool) =>
      tool.name !== "ask"
        ? tool
        : {
            ...tool,
            execute: async (...args: Parameters<Tool["execute"]>) => {
              reached.resolve();
              await gate.promise;
              return tool.execute(...args);
            },
          },
    );
    const harness = await startDoomed({ script, tools: slow });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await reached.promise;
    const drained = harness.drain(0);
    gate.resolve();
    await drained;
    await harness.die();
    const next = await start({ script, tools, ...harness.next });
    await waiting(next, turnId);
    await answer(next, turnId, "red");
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({
      text: "On it.\n\nacted 1, answer: red, acted 2",
      interrupted: false,
    });
  });

  it("is not one of its crashes: a turn may ask more often than it may crash", async () => {
    const twelve: Tool = {
      name: "ask",
      description: "ask",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        const said: string[] = [];
        for (let n = 0; n < 8; n++) {
          const given = await context?.ask({ text: `Question ${n}?` });
          said.push(given?.kind === "answered" ? given.text : "-");
        }
        return { content: said.join("") };
      },
    };
    const harness = await start({
      script: ({ messages }) => {
        const last = messages.at(-1);
        return last?.role === "tool" ? [text(String(last.content)), end()] : [toolCall("c", "ask"), end("tool_calls")];
      },
      tools: [twelve],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    for (let n = 0; n < 8; n++) {
      await expect
        .poll(
          async () => {
            const state = await harness.turns.read(harness.agentName, turnId);
            return state.state === "waiting" ? state.question.text : state.state;
          },
          { interval: 20 },
        )
        .toBe(`Question ${n}?`);
      await answer(harness, turnId, String(n));
    }
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ text: "01234567", interrupted: false });
  });

  it("keeps calls beside the question that have ended, asks one question at a time, and shows results in the order of the calls", async () => {
    let read = 0;
    const parallel = { description: "", parameters: { type: "object" }, parallel: true } as const;
    const reader: Tool = {
      ...parallel,
      name: "read",
      execute: async ({ what }) => {
        read++;
        return { content: `read ${String(what)}` };
      },
    };
    const asker: Tool = {
      ...parallel,
      name: "ask",
      execute: async ({ about }, _signal, context) => {
        const given = await context?.ask({ text: `${String(about)}?` }).catch((error: unknown) => {
          // A tool that swallows what ends it does not keep the turn from waiting.
          if (about === "first") return { kind: "answered" as const, text: "made up" };
          throw error;
        });
        return { content: `${String(about)}: ${given?.kind === "answered" ? given.text : "-"}` };
      },
    };
    const harness = await start({
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === "tool");
        if (results.length > 0) return [text(results.map(({ content }) => String(content)).join(", ")), end()];
        const calls = [
          toolCall("a", "ask", { about: "first" }),
          toolCall("b", "read", { what: "b" }),
          toolCall("c", "ask", { about: "second" }),
          toolCall("d", "read", { what: "d" }),
        ];
        return [...calls, end("tool_calls")];
      },
      tools: [reader, asker],
    });
    const { turnId, question } = await ask(harness);
    expect(question.text).toBe("first?");
    await answer(harness, turnId, "one");
    await expect.poll(async () => waiting(harness, turnId)).toMatchObject({ text: "second?" });
    await answer(harness, turnId, "two");
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("first: one, read b, second: two, read d");
    expect(read).toBe(2);
  });

  it("runs a call again whose process died before its question was stored as little as any other", async () => {
    const asked = Promise.withResolvers<void>();
    const { counts, tools } = asking();
    const doomed = await startDoomed({
      script,
      tools: tools.map((tool) =>
        tool.name === "act"
          ? tool
          : {
              ...tool,
              execute: async () => {
                counts.begun++;
                asked.resolve();
                return hang();
              },
            },
      ),
    });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await asked.promise;
    await doomed.die();
    const next = await start({ script, tools, ...doomed.next });
    const result = await next.turns.wait(next.agentName, turnId);
    expect(result.text).toContain("TOOL_OUTCOME_UNKNOWN");
    expect(counts.begun).toBe(1);
  });

  it("tells the model what was answered when the call dies after its answer", async () => {
    const { tools } = asking();
    const doomedTools = tools.map((tool) =>
      tool.name === "act"
        ? tool
        : {
            ...tool,
            execute: async (...[, , context]: Parameters<Tool["execute"]>) => {
              await context?.ask({ text: "Which one?" });
              return hang();
            },
          },
    );
    const doomed = await startDoomed({ script, tools: doomedTools });
    const { turnId } = await ask(doomed);
    await answer(doomed, turnId, "red");
    await expect.poll(() => doomed.dispatcher.activeTurns).toBe(1);
    const database = await open();
    await expect
      .poll(
        async () =>
          (await database.query("select 1 from turn_steps where turn_id = $1 and state = 'intended'", [turnId])).count,
      )
      .toBe(1);
    await doomed.die();
    const next = await start({ script, tools, ...doomed.next });
    const result = await next.turns.wait(next.agentName, turnId);
    expect(result).toMatchObject({ interrupted: true });
    expect(result.text).toContain('The user had answered: "red".');
  });

  it("is answered by a command, which says so when no turn waits; /status and /steer know it", async () => {
    const { tools } = asking();
    const harness = await start({ script, tools });
    expect(await harness.command("/answer red")).toMatchObject({ data: { answered: false } });
    const { turnId } = await ask(harness);
    expect(await harness.command("/status")).toMatchObject({ data: { turn_id: turnId, waiting: true } });
    expect(await harness.command("/steer be brief")).toMatchObject({ data: { turn_id: turnId, steered: true } });
    expect(await harness.command("/answer blue or red")).toMatchObject({ data: { turn_id: turnId, answered: true } });
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toContain("answer: blue or red");
    expect(harness.requests.at(-1)?.messages.some(({ content }) => String(content).includes("be brief"))).toBe(true);
  });

  it("reports progress in the stream, and delivers messages on the way once, also when its call is executed again", async () => {
    const tool: Tool = {
      name: "ask",
      description: "ask",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        context?.progress("half way");
        await context?.deliver("A word before.");
        const given = await context?.ask({ text: "Go on?" });
        await context?.deliver("A word after.");
        return { content: given?.kind ?? "" };
      },
    };
    const harness = await start({
      script: ({ messages }) =>
        messages.at(-1)?.role === "tool" ? [text("Done."), end()] : [toolCall("c", "ask"), end("tool_calls")],
      tools: [tool],
    });
    const { turnId } = await ask(harness);
    const events = harness.events(turnId);
    await sleep(20);
    await answer(harness, turnId, "yes");
    await harness.turns.wait(harness.agentName, turnId);
    await expect.poll(() => harness.sent).toHaveLength(4);
    expect(harness.sent.map((message) => message.text).sort()).toEqual([
      "A word after.",
      "A word before.",
      "Done.",
      "Go on?",
    ]);
    const said = await events;
    expect(said).toContainEqual({ type: "tool.progress", turn_id: turnId, tool_call_id: "c", text: "half way" });
    expect(said).toContainEqual({ type: "turn.message", turn_id: turnId, text: "A word after." });
  });

  it("asks by a hook before the call runs, and by none that is late or runs after it", async () => {
    const { counts, tools } = asking();
    const hook = (event: HookEvent, run: (context: ToolContext) => Promise<unknown>, more = {}): AnyHook =>
      ({ name: "probe", event, priority: 50, run, ...more }) as AnyHook;
    const begun = Promise.withResolvers<void>();
    const tooLate = Promise.withResolvers<unknown>();
    const guard = hook("tool:before", async (context) => {
      const given = await context.ask({ text: "May it act?" });
      if (given.kind === "expired" || given.text !== "yes") throw new ToolError("TOOL_REFUSED", "No.");
    });
    const late = hook(
      "tool:before",
      async (context) => {
        await begun.promise;
        await context.ask({ text: "Late?" }).catch(tooLate.resolve);
      },
      { policy: "open", deadlineMs: 1 },
    );
    const after = hook("tool:after", (context) => context.ask({ text: "Was it right?" }));
    const act: Tool = {
      name: "act",
      description: "act",
      parameters: { type: "object" },
      execute: async () => {
        counts.acted++;
        begun.resolve();
        await tooLate.promise;
        return { content: "acted" };
      },
    };
    const harness = await start({
      script: ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? [text(String(messages.at(-1)?.content)), end()]
          : [toolCall("c", "act"), end("tool_calls")],
      tools: [...tools.filter(({ name }) => name !== "act"), act],
      hooks: [guard, late, after],
    });
    const { turnId, question } = await ask(harness);
    expect([question.text, counts.acted]).toEqual(["May it act?", 0]);
    await answer(harness, turnId, "yes");
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("acted");
    expect(counts.acted).toBe(1);
    expect(await tooLate.promise).toMatchObject({ code: "TOOL_REFUSED" });
  });

  it.each([
    [{ text: " " }, "1 to 10000"],
    [{ text: "x".repeat(10_001) }, "1 to 10000"],
    [{ choices: [""] }, "choices"],
    [{ choices: Array.from({ length: 21 }, String) }, "choices"],
    [{ deadlineMs: 0 }, "30 days"],
    [{ deadlineMs: Number.NaN }, "30 days"],
    [{ deadlineMs: 31 * 86_400_000 }, "30 days"],
  ] as const)("asks nothing beyond the bounds: %o", async (question, why) => {
    const { tools } = asking(question);
    const harness = await start({ script, tools });
    const { text: said } = await harness.say("go");
    expect(said).toContain("TOOL_INVALID_ARGUMENTS");
    expect(said).toContain(why);
  });
});
