/** The hook events of a turn as hooks see them, and what a hook that fails does to the turn. */

import { tmpdir } from "node:os";
import { afterEach, expect, it } from "vitest";
import { ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook, HookEvent } from "../../../../runtime/contracts/hooks.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { end, type Harness, type HarnessOptions, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

describeDatabase("hook events of turns", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    const harness = await startHarness({ database: await open(), ...options });
    running.push(harness);
    return harness;
  }

  /** Hooks of these events that keep what they get. */
  function recorder(...events: HookEvent[]) {
    const seen: { event: HookEvent; context: Record<string, unknown> }[] = [];
    const hooks = events.map(
      (event) =>
        ({
          name: "recorder",
          event,
          priority: 99,
          run: async (context: object) => void seen.push({ event, context: { ...context } }),
        }) as AnyHook,
    );
    return {
      seen,
      hooks,
      of: (event: HookEvent) => seen.filter((one) => one.event === event).map((one) => one.context),
    };
  }

  const echo: HarnessOptions["script"] = ({ messages }) => [text(`re: ${String(messages.at(-1)?.content)}`), end()];
  const hook = (event: HookEvent, run: () => Promise<unknown>, more = {}): AnyHook =>
    ({ name: "probe", event, priority: 50, run, ...more }) as AnyHook;

  it("tell of the provider's call, its failure and its reply, in this order", async () => {
    const { seen, hooks, of } = recorder("provider:before", "provider:error", "provider:after");
    const harness = await start({
      script: () => Promise.reject(new ProviderError("PROVIDER_OVERLOADED", "busy")),
      others: { spare: echo },
      agent: { fallbacks: ["spare:small"] },
      hooks,
    });
    const { turn_id } = await harness.say("hi");
    expect(seen.map(({ event, context }) => `${event} ${String(context["provider"])}`)).toEqual([
      "provider:before scripted",
      "provider:error scripted",
      "provider:before spare",
      "provider:after spare",
    ]);
    expect(of("provider:before")[1]).toMatchObject({
      turnId: turn_id,
      agent: harness.agentName,
      owner: true,
      messages: [{ role: "user", content: "hi" }],
      options: { model: "small" },
    });
    expect(of("provider:error")[0]).toMatchObject({ error: { code: "PROVIDER_OVERLOADED" } });
    expect(of("provider:after")[0]).toMatchObject({ reply: { text: "re: hi", stopReason: "end" } });
  });

  it("let a hook change what the provider is asked", async () => {
    const shout: AnyHook = {
      name: "shout",
      event: "provider:before",
      priority: 50,
      run: async (context) => ({ ...context, messages: [{ role: "user", content: "HI" }] }),
    };
    const harness = await start({ script: echo, hooks: [shout] });
    expect((await harness.say("hi")).text).toBe("re: HI");
  });

  it("tell of the end of a turn once it is stored and answered, and of none that failed", async () => {
    const { of, hooks } = recorder("turn:reflect");
    let calls = 0;
    const harness = await start({
      script: (request, call) => {
        calls++;
        if (call === 2) throw new ProviderError("PROVIDER_REJECTED_REQUEST", "no");
        return echo(request, call);
      },
      hooks,
    });
    const { turn_id } = await harness.say("hi");
    await expect.poll(() => of("turn:reflect")).toHaveLength(1);
    expect(of("turn:reflect")[0]).toMatchObject({
      turnId: turn_id,
      reply: "re: hi",
      messages: [{ role: "user", content: "hi" }],
    });
    expect(await harness.turns.read(harness.agentName, turn_id)).toMatchObject({ state: "finished" });
    await expect(harness.say("again")).rejects.toMatchObject({ code: "PROVIDER_REJECTED_REQUEST" });
    expect(calls).toBe(2);
    expect(of("turn:reflect")).toHaveLength(1);
  });

  it("tell of a session's start once, by a message or by a command that comes first, and of its end by /new", async () => {
    const { seen, hooks } = recorder("session:start", "session:end");
    const harness = await start({ script: echo, hooks });
    await harness.say("one");
    await harness.say("two");
    await harness.command("/new");
    await harness.command("/new");
    await harness.command("/think high");
    await harness.say("three");
    expect(seen.map(({ event }) => event)).toEqual(["session:start", "session:end", "session:start"]);
    const [first, ended, second] = seen.map(({ context }) => context["conversationId"]);
    expect(ended).toBe(first);
    expect(second).not.toBe(first);
    const rows = await harness.transcript();
    expect(rows.at(-1)?.conversation_id).toBe(second);
  });

  it("carry whose session it is, where its turns work, and why it ended", async () => {
    const { seen, hooks } = recorder("session:start", "session:end");
    const harness = await start({ script: echo, hooks });
    await harness.say("hi", {
      address: { channel: harness.channel.id, conversation: "s1", user: "ann" },
      owner: false,
    });
    await harness.command("/new", "s1", "ann");
    await harness.command("/think high");
    const [ofAnn, ended, ofOwner] = seen.map(({ context }) => context);
    expect(seen.map(({ event }) => event)).toEqual(["session:start", "session:end", "session:start"]);
    expect(ofAnn).toEqual({
      agent: harness.agentName,
      sessionKey: expect.stringContaining("ann"),
      conversationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      channel: harness.channel.id,
      user: "ann",
      owner: false,
      workspace: expect.stringContaining(`cairn-workspaces-${harness.agentName}`),
    });
    expect(ended).toEqual({ ...ofAnn, reason: "new" });
    expect(ofOwner).toMatchObject({ user: "", owner: true, workspace: tmpdir() });
  });

  it("tell of a session's start and end once, though two nodes are asked at the same time", async () => {
    const { seen, hooks, of } = recorder("session:start", "session:end");
    const one = await start({ script: echo, hooks });
    const other = await start({
      script: echo,
      hooks,
      agent: { name: one.agentName },
      channel: one.channel,
      node: "other",
    });
    for (let round = 1; round <= 5; round++) {
      await Promise.all([one.say("hi"), other.command("/think high"), one.command("/think low")]);
      expect(of("session:start")).toHaveLength(round);
      await Promise.all([one.command("/new"), other.command("/new"), other.command("/new")]);
      expect(of("session:end")).toHaveLength(round);
    }
    const ids = (event: HookEvent) => of(event).map((context) => context["conversationId"]);
    expect(ids("session:end")).toEqual(ids("session:start"));
    expect(seen).toHaveLength(10);
  });

  it("tell of the session that a task is done in, which ends with the task, also where its turn fails", async () => {
    const { of, hooks } = recorder("session:start", "session:end");
    const hand: Tool = {
      name: "hand",
      description: "hand",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        const reply = await context?.spawn({ message: "the sums" });
        return { content: reply?.text ?? "" };
      },
    };
    let fails = false;
    const harness = await start({
      tools: [hand],
      hooks,
      script: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === "tool") return [text("done"), end()];
        if (last?.content !== "the sums") return [toolCall("c", "hand"), end("tool_calls")];
        if (fails) throw new ProviderError("PROVIDER_REJECTED_REQUEST", "no");
        return [text("42"), end()];
      },
    });
    await harness.say("go");
    await expect.poll(() => of("session:end")).toHaveLength(1);
    fails = true;
    await harness.say("go");
    await expect.poll(() => of("session:end")).toHaveLength(2);
    const [, first, second] = of("session:start");
    expect(of("session:start")).toHaveLength(3);
    expect(of("session:end")).toEqual([
      { ...first, reason: "task" },
      { ...second, reason: "task" },
    ]);
  });

  const act: Tool = {
    name: "act",
    description: "act",
    parameters: { type: "object" },
    execute: async () => ({ content: "acted" }),
  };
  /** Calls the tool once, then says what it read. */
  const actOnce: HarnessOptions["script"] = ({ messages }) => {
    const last = messages.at(-1);
    return last?.role === "tool" ? [text(String(last.content)), end()] : [toolCall("c1", "act"), end("tool_calls")];
  };

  it.each([
    ["throws", hook("tool:before", () => Promise.reject(new Error("a bug"))), "RUNTIME_INTERNAL"],
    ["hangs", hook("tool:before", () => new Promise(() => undefined), { deadlineMs: 30 }), "RUNTIME_HOOK_TIMEOUT"],
  ])("keep a call from running whose closed hook %s; the model reads why", async (_how, broken, code) => {
    let acted = 0;
    const tool = { ...act, execute: async () => ({ content: `acted ${++acted}` }) };
    const harness = await start({ script: actOnce, tools: [tool], hooks: [broken] });
    expect((await harness.say("go")).text).toContain(code);
    expect(acted).toBe(0);
  });

  it("fail a turn whose closed hook hangs before it, visibly and without a question to the model", async () => {
    const hanging = hook("turn:before", () => new Promise(() => undefined), { deadlineMs: 30 });
    const harness = await start({ script: echo, hooks: [hanging] });
    await expect(harness.say("hi")).rejects.toMatchObject({ code: "RUNTIME_HOOK_TIMEOUT" });
    expect(harness.requests).toHaveLength(0);
  });

  it.each<HookEvent>([
    "session:start",
    "turn:before",
    "provider:before",
    "provider:error",
    "tool:before",
    "tool:after",
  ])("end with /stop, though a hook of %s does not return in days", async (event) => {
    const reached = Promise.withResolvers<void>();
    const hanging = hook(
      event,
      () => {
        reached.resolve();
        return new Promise(() => undefined);
      },
      { deadlineMs: 86_400_000 },
    );
    const harness = await start({
      script: (request, call) =>
        event === "provider:error"
          ? Promise.reject(new ProviderError("PROVIDER_OVERLOADED", "busy"))
          : actOnce(request, call),
      tools: [act],
      hooks: [hanging],
    });
    const said = harness.say("go").catch((error: unknown) => error);
    await reached.promise;
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    await said;
  });

  it("go on without an open hook that throws or hangs, wherever it stands", async () => {
    const bad = (event: HookEvent) => [
      hook(event, () => Promise.reject(new Error("a bug")), { policy: "open" }),
      hook(event, () => new Promise(() => undefined), { policy: "open", deadlineMs: 20 }),
    ];
    const events: HookEvent[] = ["turn:before", "provider:before", "provider:after", "tool:before", "tool:after"];
    const harness = await start({
      script: actOnce,
      tools: [act],
      hooks: [...events, "turn:after" as const, "session:start" as const].flatMap(bad),
    });
    expect((await harness.say("go")).text).toBe("acted");
  });

  it("let a closed hook after a call hide its result, which stays done", async () => {
    const { of, hooks } = recorder("provider:before");
    const refuse = hook("tool:after", () => Promise.reject(new ProviderError("PROVIDER_REJECTED_REQUEST", "secret")), {
      policy: "closed",
    });
    const harness = await start({ script: actOnce, tools: [act], hooks: [refuse, ...hooks] });
    expect((await harness.say("go")).text).toContain("PROVIDER_REJECTED_REQUEST");
    expect(JSON.stringify(of("provider:before"))).not.toContain("acted");
  });

  it("tell of a compaction once in a turn, with what was left out", async () => {
    const { of, hooks } = recorder("compact:before", "compact:after");
    const harness = await start({
      script: (request, call) =>
        request.messages.at(-1)?.role === "user" && String(request.messages.at(-1)?.content).startsWith("act")
          ? actOnce(request, call)
          : request.messages.at(-1)?.role === "tool"
            ? [text("done"), end()]
            : [text("answer ".repeat(100)), end()],
      tools: [act],
      hooks,
      windows: { scripted: 2_000 },
    });
    for (let n = 0; n < 12; n++) await harness.say(`question ${n} ${"word ".repeat(60)}`);
    const before = of("compact:before").length;
    expect(before).toBeGreaterThan(0);
    expect(of("compact:after")).toHaveLength(before);
    // Two requests of one turn, which are cut at the same place.
    await harness.say("act");
    expect(of("compact:before")).toHaveLength(before + 1);
    const last = of("compact:after").at(-1);
    expect(last?.["dropped"]).toBeGreaterThan(0);
    expect(last?.["tokens"]).toBeLessThanOrEqual(Number(of("compact:before").at(-1)?.["limit"]));
  });

  it("keep the prompt within the window: the newest exchanges, whole; results that were read already in short", async () => {
    const big: Tool = { ...act, execute: async () => ({ content: "x".repeat(3_000) }) };
    const weigh = (request: Harness["requests"][number]) => JSON.stringify(request.messages).length / 4;
    const harness = await start({
      script: ({ messages }) => {
        const acts = messages.filter(({ role }) => role === "tool").length;
        const question = String(messages.findLast(({ role }) => role === "user")?.content);
        if (question !== "act thrice" || acts >= 3) return [text("answer ".repeat(100)), end()];
        return [toolCall("c", "act", { n: acts }), end("tool_calls")];
      },
      tools: [big],
      windows: { scripted: 3_000 },
    });
    for (let n = 0; n < 15; n++) await harness.say(`question ${n} ${"word ".repeat(60)}`);
    const request = harness.requests.at(-1);
    expect(request?.messages[0]?.role).toBe("user");
    expect(String(request?.messages.at(-1)?.content)).toContain("question 14");
    expect(request?.messages.length).toBeGreaterThan(3);
    expect(request && weigh(request)).toBeLessThan(3_000);

    await harness.say("act thrice");
    const results = harness.requests.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results).toHaveLength(3);
    expect(String(results[0]?.content)).toContain("left out to make room");
    // What the model is about to read stays whole, and what is stored always does.
    expect(String(results[2]?.content)).toHaveLength(3_000);
    const stored = (await harness.transcript()).filter(({ tool_name }) => tool_name === "act");
    expect(stored.map(({ tool_result }) => tool_result?.length)).toEqual([3_000, 3_000, 3_000]);
  });

  it("leave a message that is longer than the window to the provider, whose refusal ends the turn visibly", async () => {
    const harness = await start({
      script: ({ messages }) => {
        if (String(messages.at(-1)?.content).length > 10_000)
          throw new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "The prompt is too long.");
        return [text("fine"), end()];
      },
      windows: { scripted: 2_000 },
    });
    await expect(harness.say("word ".repeat(4_000))).rejects.toMatchObject({ code: "PROVIDER_CONTEXT_TOO_LONG" });
    expect(harness.requests).toHaveLength(1);
    // The next message is not lost with it: what is too long is left out.
    expect((await harness.say("short")).text).toBe("fine");
  });
});
