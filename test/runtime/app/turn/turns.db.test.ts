/** A message comes in, a turn answers it: acceptance, order, tools, steering, stopping, and what is stored of it. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { ProviderError, ToolError } from "../../../../runtime/contracts/errors.ts";
import { NO_USAGE } from "../../../../runtime/contracts/message.ts";
import type { Logger } from "../../../../runtime/contracts/ports.ts";
import type { Provider } from "../../../../runtime/contracts/provider.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  hang,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

describeEachDatabase("turns", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    const harness = await startHarness({ database: await open(), ...options });
    running.push(harness);
    return harness;
  }
  const echo: HarnessOptions["script"] = ({ messages }) => [
    text(`you said: ${String(messages.at(-1)?.content)}`),
    end(),
  ];

  function tool(name: string, execute: Tool["execute"], extra: Partial<Tool> = {}): Tool {
    return { name, description: name, parameters: { type: "object" }, execute, ...extra };
  }

  it("answers a message, stores both sides and sends the reply", async () => {
    const harness = await start({ script: echo });
    const result = await harness.say("hello");
    expect(result).toMatchObject({ text: "you said: hello", session: "s1", interrupted: false });
    expect(result.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    const rows = await harness.transcript();
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ["user", "hello"],
      ["assistant", "you said: hello"],
    ]);
    await expect.poll(() => harness.sent).toMatchObject([{ turnId: result.turn_id, text: "you said: hello" }]);
  });

  it("shows the model the session so far, and not another session's", async () => {
    const harness = await start({ script: echo });
    await harness.say("first");
    await harness.say("elsewhere", { session: "s2" });
    await harness.say("second");
    expect(harness.requests.at(-1)?.messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "first"],
      ["assistant", "you said: first"],
      ["user", "second"],
    ]);
  });

  it("starts exactly one turn for sixteen concurrent deliveries of one message", async () => {
    const harness = await start({ script: echo });
    const message = harness.message("once", { externalId: "m-1" });
    const accepted = await Promise.all(Array.from({ length: 16 }, () => harness.turns.accept(message)));
    expect(new Set(accepted.map(({ turnId }) => turnId)).size).toBe(1);
    expect(accepted.filter(({ fresh }) => fresh)).toHaveLength(1);
    await harness.turns.wait(harness.agentName, accepted[0]?.turnId ?? "");
    expect(harness.requests).toHaveLength(1);
  });

  it("refuses another body under the same key and names the first turn", async () => {
    const harness = await start({ script: echo });
    const { turnId } = await harness.turns.accept(harness.message("one", { externalId: "m-1" }));
    const second = harness.turns.accept(harness.message("two", { externalId: "m-1" }));
    await expect(second).rejects.toMatchObject({ code: "RUNTIME_CONFLICT", details: { turnId } });
  });

  it("routes a message that names no agent by its channel's bindings, else to the default agent", async () => {
    const harness = await start({ script: echo });
    const { turnId } = await harness.turns.accept(harness.message("hi", { agent: "", session: "bound" }));
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("you said: hi");
    const elsewhere = harness.turns.accept(harness.message("hi", { agent: "", session: "not bound" }));
    await expect(elsewhere).rejects.toMatchObject({
      code: "RUNTIME_AGENT_UNKNOWN",
      message: expect.stringContaining("nobody"),
    });
  });

  it("gives a message that comes again to the agent that had it, though its conversation is bound to another one by now", async () => {
    const channelBindings: Record<string, string> = {};
    const harness = await start({ script: echo, moreAgents: ["other"], channelBindings });
    const message = harness.message("hi", { agent: "", session: "rebound" });
    channelBindings["rebound"] = harness.agentName;
    const first = await harness.turns.accept(message);
    channelBindings["rebound"] = `${harness.agentName}-other`;
    expect(await harness.turns.accept(message)).toEqual({ ...first, fresh: false });
    expect(await harness.turns.accept({ ...message, externalId: "another one" })).toMatchObject({
      agent: `${harness.agentName}-other`,
      fresh: true,
    });
  });

  it("refuses an unknown agent before anything is stored", async () => {
    const harness = await start({ script: echo });
    const refused = harness.turns.accept(harness.message("hi", { agent: "nobody" }));
    await expect(refused).rejects.toMatchObject({ code: "RUNTIME_AGENT_UNKNOWN" });
  });

  it("keeps the order of a session and runs sessions side by side", async () => {
    const release = new Map<string, () => void>();
    const order: string[] = [];
    const harness = await start({
      script: async ({ messages }) => {
        const said = String(messages.at(-1)?.content);
        order.push(said);
        await new Promise<void>((resolve) => release.set(said, resolve));
        return [text("ok"), end()];
      },
    });
    const accepted = [];
    for (const said of ["a1", "a2"]) accepted.push(await harness.turns.accept(harness.message(said, { session: "a" })));
    accepted.push(await harness.turns.accept(harness.message("b1", { session: "b" })));
    await expect.poll(() => [...order].sort()).toEqual(["a1", "b1"]);
    release.get("a1")?.();
    await expect.poll(() => order).toContain("a2");
    release.get("a2")?.();
    release.get("b1")?.();
    for (const { turnId } of accepted) await harness.turns.wait(harness.agentName, turnId);
  });

  it("runs tools, gives their results back, and stores each call as a row of its own", async () => {
    const harness = await start({
      script: ({ messages }, call) =>
        call === 1
          ? [text("Let me look."), toolCall("c1", "look", { at: "sky" }), end("tool_calls")]
          : [text(`It is ${String(messages.at(-1)?.content)}.`), end()],
      tools: [tool("look", async ({ at }) => ({ content: `blue ${String(at)}` }))],
    });
    const result = await harness.say("what colour?");
    expect(result.text).toBe("Let me look.\n\nIt is blue sky.");
    const rows = await harness.transcript();
    expect(rows.map(({ role, content, tool_name, tool_result }) => [role, content, tool_name, tool_result])).toEqual([
      ["user", "what colour?", null, null],
      ["assistant", "Let me look.", null, null],
      ["assistant", "", "look", "blue sky"],
      ["assistant", "It is blue sky.", null, null],
    ]);
    expect(rows[2]?.metadata).toMatchObject({ turn_id: result.turn_id, tool_call_id: "c1" });
  });

  it("streams deltas whose sum is the text, with the tools in between", async () => {
    const harness = await start({
      script: (_request, call) =>
        call === 1
          ? [text("One "), text("moment."), toolCall("c1", "look"), end("tool_calls")]
          : [text("Do"), text("ne."), end()],
      tools: [tool("look", async () => ({ content: "seen" }))],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    const events = await harness.events(turnId);
    const deltas = events.flatMap((event) => (event.type === "text.delta" ? [event.text] : []));
    const last = events.at(-1);
    expect(last).toMatchObject({ type: "turn.finished", text: deltas.join("") });
    expect(deltas.join("")).toBe("One moment.\n\nDone.");
    expect(events.map(({ type }) => type).filter((type) => type !== "text.delta")).toEqual([
      "turn.started",
      "tool.started",
      "tool.finished",
      "turn.finished",
    ]);
  });

  it("rebuilds earlier tool calls for the model as calls with their results", async () => {
    const harness = await start({
      script: (_request, call) =>
        call === 1 ? [toolCall("c1", "look"), toolCall("c2", "look"), end("tool_calls")] : [text("ok"), end()],
      tools: [tool("look", async () => ({ content: "seen" }), { parallel: true })],
    });
    await harness.say("look twice");
    await harness.say("and now?");
    expect(harness.requests.at(-1)?.messages).toMatchObject([
      { role: "user", content: "look twice" },
      { role: "assistant", toolCalls: [{ id: "c1" }, { id: "c2" }] },
      { role: "tool", toolCallId: "c1", content: "seen" },
      { role: "tool", toolCallId: "c2", content: "seen" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "and now?" },
    ]);
  });

  it("runs calls that only read side by side, and others one after the other", async () => {
    const now: Record<string, number> = { read: 0, write: 0 };
    const most: Record<string, number> = { read: 0, write: 0 };
    const together = Promise.withResolvers<void>();
    const counted = (name: string) => async () => {
      now[name] = (now[name] ?? 0) + 1;
      most[name] = Math.max(most[name] ?? 0, now[name]);
      if (now["read"] === 3) together.resolve();
      await (name === "read" ? together.promise : sleep(20));
      now[name] -= 1;
      return { content: name };
    };
    const calls = (name: string) => [1, 2, 3].map((n) => toolCall(`${name}${n}`, name));
    const harness = await start({
      script: (_request, call) =>
        call === 1
          ? [...calls("read"), end("tool_calls")]
          : call === 2
            ? [...calls("write"), end("tool_calls")]
            : [text("ok"), end()],
      tools: [tool("read", counted("read"), { parallel: true }), tool("write", counted("write"))],
    });
    await harness.say("go");
    expect(most).toEqual({ read: 3, write: 1 });
  });

  it("runs 200 calls of one step side by side, each once, and gives the results in the order of the calls", async () => {
    const count = 200;
    const started: unknown[] = [];
    const ends = Array.from({ length: count }, () => Promise.withResolvers<void>());
    const harness = await start({
      script: (_request, call) =>
        call === 1 ? [...ends.map((_, n) => toolCall(`c${n}`, "read", { n })), end("tool_calls")] : [text("ok"), end()],
      tools: [
        tool(
          "read",
          async ({ n }) => {
            // The last one ends first.
            if (started.push(n) === count) ends.at(-1)?.resolve();
            await ends[Number(n)]?.promise;
            ends[Number(n) - 1]?.resolve();
            return { content: `result ${n}` };
          },
          { parallel: true },
        ),
      ],
    });
    expect(await harness.say("go")).toMatchObject({ text: "ok" });
    expect(started).toHaveLength(count);
    const results = harness.requests[1]?.messages.filter(({ role }) => role === "tool");
    expect(results?.map(({ toolCallId, content }) => [toolCallId, content])).toEqual(
      ends.map((_, n) => [`c${n}`, `result ${n}`]),
    );
  });

  it("tells the model what was wrong with a call, and goes on", async () => {
    const harness = await start({
      script: (_request, call) =>
        call === 1
          ? [
              toolCall("c1", "missing"),
              toolCall("c2", "strict", { n: "many" }),
              toolCall("c3", "strict", { __invalid_json: "{" }),
              toolCall("c4", "refuses"),
              toolCall("c5", "breaks"),
              // Of which the service could not read so much as the name.
              toolCall("c6", "unreadable_call", { __invalid_json: "{" }),
              end("tool_calls"),
            ]
          : [text("I see."), end()],
      tools: [
        tool("strict", async () => ({ content: "never" }), {
          parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
        }),
        tool("refuses", async () => {
          throw new ToolError("TOOL_REFUSED", "Not that.");
        }),
        tool("breaks", async () => {
          throw new Error("secret detail");
        }),
      ],
    });
    const result = await harness.say("try");
    expect(result).toMatchObject({ text: "I see.", interrupted: false });
    const results = harness.requests[1]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    expect(results?.map((content) => String(content).split(":")[0])).toEqual([
      "TOOL_UNKNOWN",
      "TOOL_INVALID_ARGUMENTS",
      "TOOL_INVALID_ARGUMENTS",
      "TOOL_REFUSED",
      "RUNTIME_INTERNAL",
      "TOOL_INVALID_ARGUMENTS",
    ]);
    expect(JSON.stringify(results)).not.toContain("secret detail");
  });

  it("keeps the text so far when the iteration cap is hit", async () => {
    const harness = await start({
      limits: { maxToolIterations: 2 },
      script: (_request, call) => [text(`step ${call}`), toolCall(`c${call}`, "look"), end("tool_calls")],
      tools: [tool("look", async () => ({ content: "seen" }))],
    });
    const result = await harness.say("loop");
    expect(result).toMatchObject({ text: "step 1\n\nstep 2\n\nstep 3", interrupted: true });
    expect(result.notice).toContain("2 tool iterations");
    expect(harness.requests).toHaveLength(3);
  });

  it("gives calls that repeat an id across replies names of their own", async () => {
    let runs = 0;
    const harness = await start({
      script: (_request, call) =>
        call <= 2 ? [toolCall("call_0", "count"), end("tool_calls")] : [text("done"), end()],
      tools: [tool("count", async () => ({ content: String(++runs) }))],
    });
    expect((await harness.say("count twice")).text).toBe("done");
    expect(runs).toBe(2);
  });

  it("stops a turn: the tool's signal aborts, the text so far is kept, and the next message is answered", async () => {
    let aborted = false;
    const harness = await start({
      script: (_request, call) =>
        call === 1 ? [text("Working"), toolCall("c1", "slow"), end("tool_calls")] : [text("fresh"), end()],
      tools: [
        tool("slow", async (_args, signal) => {
          await hang(signal).catch(() => undefined);
          aborted = true;
          throw new ToolError("TOOL_ABORTED", "Stopped.");
        }),
      ],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(async () => (await harness.store.steps.list(turnId)).at(-1)?.kind).toBe("tool");
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    expect(aborted).toBe(true);
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ text: "Working", interrupted: true });
    expect((await harness.say("again")).text).toBe("fresh");
  });

  it("keeps what a model had said when it is stopped in the middle of a reply", async () => {
    const harness = await start({
      script: async function* ({ options }) {
        yield text("Half a sen");
        await hang(options.signal);
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.hub.since(turnId, 0).length).toBeGreaterThan(1);
    await harness.command("/stop");
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({
      text: "Half a sen",
      interrupted: true,
    });
    const rows = await harness.transcript();
    expect(rows.at(-1)).toMatchObject({ role: "assistant", content: "Half a sen", metadata: { interrupted: true } });
  });

  it("shows a steer to the agent at its next step, also when it comes during the last reply", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const harness = await start({
      script: async (_request, call) => {
        if (call === 1) return [toolCall("c1", "wait"), end("tool_calls")];
        if (call === 2) {
          await gates[1]?.promise;
          return [text("Nearly done."), end()];
        }
        return [text("Now in French."), end()];
      },
      tools: [
        tool("wait", async () => {
          await gates[0]?.promise;
          return { content: "ok" };
        }),
      ],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(async () => (await harness.store.steps.list(turnId)).at(-1)?.kind).toBe("tool");
    expect(await harness.command("/steer be brief")).toMatchObject({ data: { steered: true } });
    gates[0]?.resolve();
    await expect.poll(() => harness.requests.length).toBe(2);
    expect(harness.requests[1]?.messages.at(-1)).toMatchObject({ role: "system" });
    expect(String(harness.requests[1]?.messages.at(-1)?.content)).toContain("be brief");
    await harness.command("/steer in French");
    gates[1]?.resolve();
    const result = await harness.turns.wait(harness.agentName, turnId);
    expect(result.text).toBe("Nearly done.\n\nNow in French.");
    const rows = await harness.transcript();
    expect(rows.filter(({ role }) => role === "system").map(({ content }) => content)).toEqual([
      "be brief",
      "in French",
    ]);
  });

  it("interrupts: aborts the turn and runs the text ahead of what is queued", async () => {
    const said: string[] = [];
    const harness = await start({
      script: async ({ messages, options }) => {
        const last = String(messages.at(-1)?.content);
        said.push(last);
        if (last === "long") await hang(options.signal);
        return [text(`re: ${last}`), end()];
      },
    });
    const long = await harness.turns.accept(harness.message("long"));
    const queued = await harness.turns.accept(harness.message("queued"));
    await expect.poll(() => said).toEqual(["long"]);
    const reply = await harness.command("/interrupt urgent");
    const urgent = String(reply.data?.turn_id);
    expect((await harness.turns.wait(harness.agentName, urgent)).text).toBe("re: urgent");
    await harness.turns.wait(harness.agentName, queued.turnId);
    expect(said).toEqual(["long", "urgent", "queued"]);
    expect(await harness.turns.wait(harness.agentName, long.turnId)).toMatchObject({ interrupted: true });
  });

  it("begins a new conversation with /new: history gone, transcript and settings kept", async () => {
    const harness = await start({ script: echo });
    await harness.say("remember this");
    await harness.command("/think high");
    await harness.command("/new");
    await harness.say("fresh");
    const request = harness.requests.at(-1);
    expect(request?.messages.map(({ content }) => content)).toEqual(["fresh"]);
    expect(request?.options.thinking).toBe("high");
    const rows = await harness.transcript();
    expect(rows.map(({ content }) => content)).toContain("remember this");
    expect(new Set(rows.map(({ conversation_id }) => conversation_id)).size).toBe(2);
  });

  it("writes the end of a turn that /new aborted into the conversation it belongs to", async () => {
    const harness = await start({
      script: async function* ({ options }) {
        yield text("Half");
        await hang(options.signal);
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.hub.since(turnId, 0).length).toBeGreaterThan(1);
    await harness.command("/new");
    const rows = await harness.transcript();
    expect(rows.map(({ content }) => content)).toEqual(["go", "Half"]);
    expect(new Set(rows.map(({ conversation_id }) => conversation_id)).size).toBe(1);
  });

  it("answers every command at once while a turn runs, and refuses unknown ones", async () => {
    const harness = await start({ script: async ({ options }) => hang(options.signal) });
    await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.requests.length).toBe(1);
    expect(await harness.command("/status")).toMatchObject({ data: { queued: 0, model: "scripted:scripted-1" } });
    expect(await harness.command("/model other-2")).toMatchObject({ data: { model: "scripted:other-2" } });
    expect(await harness.command("/model")).toMatchObject({ data: { model: "scripted:other-2" } });
    expect(await harness.command("/think low")).toMatchObject({ data: { thinking: "low" } });
    expect(await harness.command("/reasoning on")).toMatchObject({ data: { reasoning: true } });
    await expect(harness.command("/think deeply")).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    await expect(harness.command("/dance")).rejects.toMatchObject({ code: "RUNTIME_COMMAND_UNKNOWN" });
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: false } });
    expect(await harness.command("/steer hello")).toMatchObject({ data: { steered: false } });
  });

  it("says in its status since when a turn runs, by the clock of the configured zone", async () => {
    const harness = await start({ script: async ({ options }) => hang(options.signal), timezone: "Asia/Kolkata" });
    await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.requests.length).toBe(1);
    expect((await harness.command("/status")).text).toMatch(
      / A turn is running since \d{4}-\d{2}-\d{2} \d{2}:\d{2} Asia\/Kolkata\. 0 queued\.$/,
    );
    await harness.command("/stop");
  });

  it("says in its status what was said last", async () => {
    const harness = await start({ script: echo });
    expect(await harness.command("/status")).toMatchObject({ data: { last: null } });
    await harness.say("hello");
    expect(await harness.command("/status")).toMatchObject({
      data: { last: { role: "assistant", text: "you said: hello", created_at: expect.any(String) } },
    });
  });

  it("takes no provider for a model and no model that a provider has not, and says how to go back", async () => {
    const others = { small: () => [text("hi"), end()] };
    const harness = await start({ script: () => [text("hi"), end()], others, models: { small: ["tiny"] } });
    const refused = { code: "RUNTIME_INVALID_REQUEST" };
    await expect(harness.command("/model small")).rejects.toMatchObject({
      ...refused,
      message: "small is a provider, and no model.",
    });
    await expect(harness.command("/model small:huge")).rejects.toMatchObject({
      ...refused,
      message: "The provider small has only the model tiny.",
      details: { hint: expect.stringContaining("Providers: scripted, small.") },
    });
    const back = "/model default goes back to the configured one.";
    expect((await harness.command("/model small:tiny")).text).toBe(`The model is now small:tiny. ${back}`);
    expect((await harness.command("/model")).text).toBe(`The model is small:tiny. ${back}`);
    expect((await harness.command("/model default")).text).toBe("The model is now scripted:scripted-1.");
  });

  it("refuses a model that its server does not have, naming the nearest, and doubts one that a list may leave out", async () => {
    const names = ["llama3.2:3b", "qwen3:14b", "phi4", "qwen3:8b"];
    const listing = (listModels: NonNullable<Provider["listModels"]>) =>
      start({ script: () => [text("hi"), end()], listModels });
    const sure = await listing(async () => ({ names, complete: true }));
    await expect(sure.command("/model qwen3:9b")).rejects.toMatchObject({
      code: "RUNTIME_INVALID_REQUEST",
      message: expect.stringMatching(
        /^The provider scripted does not list the model qwen3:9b\. Nearest of those that it lists: qwen3:8b, qwen3:14b, \S+\.$/,
      ),
      details: { hint: expect.stringContaining("/model default") },
    });
    expect((await sure.command("/model")).text).toBe("The model is scripted:scripted-1.");
    expect((await sure.command("/model PHI4:latest")).text).not.toContain("does not list");
    const unsure = await listing(async () => ({ names, complete: false }));
    expect((await unsure.command("/model phi5")).text).toMatch(
      /^The model is now scripted:phi5\. The provider scripted does not list the model phi5\. Nearest of those that it lists: phi4, /,
    );
    for (const unread of [async () => null, async () => Promise.reject(new Error("down"))]) {
      const harness = await listing(unread);
      expect((await harness.command("/model phi5")).data).toEqual({ model: "scripted:phi5" });
    }
  });

  it("gives up a model that is not configured any more, and says so once", async () => {
    const script = () => [text("hi"), end()];
    const harness = await start({ script, others: { former: script } });
    await harness.say("hello");
    await harness.command("/model former:big");
    const next = await start({ script, ...harness.next });
    expect(await next.command("/model")).toMatchObject({ data: { model: "scripted:scripted-1" } });
    expect((await next.say("still there?")).notice).toContain("The model former:big is not configured any more");
    expect((await next.say("and now?")).notice).toBeUndefined();
  });

  it("logs what a model's server refuses in one line, and a fault of its own with its stack", async () => {
    const lines: { fields: Record<string, unknown>; message: string }[] = [];
    const log = (fields: Record<string, unknown>, message: string) => void lines.push({ fields, message });
    const failing = (error: Error) => () => Promise.reject(error);
    const logger: Logger = { debug() {}, info() {}, warn: log, error: log, child: () => logger };
    const failed = () => lines.filter(({ message }) => message === "a turn failed").map(({ fields }) => fields);
    const refused = await start({
      script: failing(new ProviderError("PROVIDER_REJECTED_REQUEST", "model not found, try pulling it")),
      logger,
    });
    await expect(refused.say("hi")).rejects.toThrow();
    expect(failed()).toMatchObject([{ code: "PROVIDER_REJECTED_REQUEST", reason: "model not found, try pulling it" }]);
    expect(failed()[0]).not.toHaveProperty("err");
    const broken = await start({ script: failing(new TypeError("x is not a function")), logger });
    await expect(broken.say("hi")).rejects.toThrow();
    expect(failed()[1]).toHaveProperty("err");
  });

  it("bounds commands of users who are not the owner as it bounds their messages", async () => {
    const harness = await start({
      script: async ({ options }) => hang(options.signal),
      limits: { maxOpenOfOneUser: 1, maxTextOfOthers: 20 },
    });
    expect(await harness.command("/interrupt now", "s1", "ann")).toMatchObject({ data: { interrupted: false } });
    await expect.poll(() => harness.requests.length).toBe(1);
    // What runs counts, and goes on.
    await expect(harness.command("/interrupt again", "s1", "ann")).rejects.toMatchObject({
      code: "RUNTIME_RATE_LIMITED",
    });
    expect(await harness.command("/status", "s1", "ann")).toMatchObject({ data: { queued: 0 } });
    const long = `/steer ${"x".repeat(14)}`;
    await expect(harness.command(long, "s1", "ann")).rejects.toMatchObject({ code: "RUNTIME_BODY_TOO_LARGE" });
    expect(await harness.command(long.slice(0, 20), "s1", "ann")).toMatchObject({ data: { steered: true } });
    expect(await harness.command(long)).toMatchObject({ data: { steered: false } });
  });

  it("shows what another user adds with the role of the user, and takes so much of it for a turn", async () => {
    const gate = Promise.withResolvers<void>();
    const wait = tool("wait", async () => {
      await gate.promise;
      return { content: "ok" };
    });
    const harness = await start({
      script: (_request, call) => (call === 1 ? [toolCall("c1", "wait"), end("tool_calls")] : [text("Done."), end()]),
      tools: [wait],
      agent: { tools: { others: { include: ["wait"] } } },
      limits: { maxSteersOfOthers: 2 },
    });
    const address = { channel: harness.channel.id, conversation: "s1", user: "ann" };
    const { turnId } = await harness.turns.accept(harness.message("go", { owner: false, address }));
    await expect.poll(async () => (await harness.store.steps.list(turnId)).at(-1)?.kind).toBe("tool");
    const steer = (said: string) => harness.command(`/steer ${said}`, "s1", "ann");
    for (const said of ["be brief", "obey me"]) expect(await steer(said)).toMatchObject({ data: { steered: true } });
    await expect(steer("and more")).rejects.toMatchObject({ code: "RUNTIME_RATE_LIMITED" });
    gate.resolve();
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("Done.");
    const shown = harness.requests[1]?.messages ?? [];
    expect(shown.slice(-2)).toEqual([
      { role: "user", content: "The user adds, while you work: be brief", aside: true },
      { role: "user", content: "The user adds, while you work: obey me", aside: true },
    ]);
    expect(shown.filter(({ role }) => role === "system")).toEqual([]);
  });

  it("keeps every setting of commands that are given at once", async () => {
    const harness = await start({ script: echo });
    for (let round = 0; round < 5; round++) {
      const session = `settings ${round}`;
      await Promise.all(["/think high", "/reasoning on", "/model other"].map((line) => harness.command(line, session)));
      expect(await harness.command("/status", session)).toMatchObject({
        data: { thinking: "high", reasoning: true, model: "scripted:other" },
      });
    }
  });

  it("refuses names that no index holds, before anything is accepted", async () => {
    const harness = await start({ script: echo });
    const accepted = harness.turns.accept(harness.message("hi", { session: "\u5b57".repeat(256) }));
    await expect(accepted).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
  });

  it("tries the next provider of the chain when the first is overloaded, and not when it refuses the key", async () => {
    const fail = (code: "PROVIDER_RATE_LIMITED" | "PROVIDER_UNAUTHORIZED") => (): never => {
      throw new ProviderError(code, code);
    };
    const options = { others: { second: () => [text("from the second"), end()] }, agent: { fallbacks: ["second:m"] } };
    const limited = await start({ script: fail("PROVIDER_RATE_LIMITED"), ...options });
    expect((await limited.say("hi")).text).toBe("from the second");
    const refused = await start({ script: fail("PROVIDER_UNAUTHORIZED"), ...options });
    await expect(refused.say("hi")).rejects.toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
  });

  it("ends a turn visibly when the model's stream is cut, and keeps the half that came", async () => {
    const harness = await start({ script: () => [text("Half")] });
    const { turnId } = await harness.turns.accept(harness.message("hi"));
    await expect(harness.turns.wait(harness.agentName, turnId)).rejects.toMatchObject({
      code: "PROVIDER_STREAM_TRUNCATED",
      retryable: false,
      details: { turnId },
    });
    const rows = await harness.transcript();
    expect(rows.at(-1)).toMatchObject({ content: "Half", metadata: { interrupted: true } });
    await expect.poll(() => harness.sent.at(-1)?.notice).toContain("PROVIDER_STREAM_TRUNCATED");
  });

  it("keeps the half of a reply that broke off, and lets the next model go on from it", async () => {
    const state = { provider: "scripted", model: "scripted-1", data: "signed" };
    const harness = await start({
      script: async function* (_request, call) {
        if (call === 1) {
          yield toolCall("c1", "look");
          yield { type: "end", stopReason: "tool_calls", usage: NO_USAGE, model: "scripted-1", state };
          return;
        }
        yield { type: "reasoning", text: "Hm." };
        yield text("Once upon");
        yield toolCall("c2", "look");
      },
      others: { second: () => [text("a time."), end()] },
      agent: { fallbacks: ["second:small"] },
      tools: [tool("look", async () => ({ content: "ok" }))],
    });
    const { turnId } = await harness.turns.accept(harness.message("tell me"));
    const result = await harness.turns.wait(harness.agentName, turnId);
    expect(result).toMatchObject({
      text: "Once upon\n\na time.",
      interrupted: true,
      notice: "The reply of scripted-1 was interrupted and continued by another model.",
    });
    const said = (await harness.events(turnId)).flatMap((event) => (event.type === "text.delta" ? [event.text] : []));
    expect(said.join("")).toBe(result.text);
    const [half, ask] = harness.requests.at(-1)?.messages.slice(-2) ?? [];
    expect(half).toEqual({ role: "assistant", content: "Once upon" });
    expect(ask).toMatchObject({ role: "user", aside: true });
    const rows = await harness.transcript();
    expect(rows.map(({ content, tool_name, metadata }) => [tool_name ?? content, metadata["interrupted"]])).toEqual([
      ["tell me", undefined],
      ["look", undefined],
      ["Once upon", true],
      ["a time.", undefined],
    ]);
    await expect.poll(() => harness.sent.at(-1)).toMatchObject({ text: result.text, notice: result.notice });
  });

  it("keeps all the text of a turn whose last model broke off as well", async () => {
    const half: HarnessOptions["script"] = () => [text("Half")];
    const harness = await start({ script: half, others: { second: half }, agent: { fallbacks: ["second:small"] } });
    const { turnId } = await harness.turns.accept(harness.message("hi"));
    await expect(harness.turns.wait(harness.agentName, turnId)).rejects.toMatchObject({
      code: "PROVIDER_STREAM_TRUNCATED",
    });
    const rows = await harness.transcript();
    expect(rows.slice(1).map(({ content, metadata }) => [content, metadata["interrupted"]])).toEqual([
      ["Half", true],
      ["Half", true],
    ]);
    await expect.poll(() => harness.sent.at(-1)?.text).toBe("Half\n\nHalf");
  });

  it("sends of a long text that broke off the beginning, with a word of its length, and stores all of it", async () => {
    const piece = "word ".repeat(100_000);
    const harness = await start({
      script: async function* () {
        for (let n = 0; n < 8; n++) yield text(piece);
        throw new ProviderError("PROVIDER_STREAM_TRUNCATED", "The stream was cut.");
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("hi"));
    await expect(harness.turns.wait(harness.agentName, turnId)).rejects.toMatchObject({
      code: "PROVIDER_STREAM_TRUNCATED",
    });
    await expect.poll(() => harness.sent.length, { timeout: 20_000 }).toBe(1);
    const [sent] = harness.sent;
    expect(sent?.text.length).toBeLessThanOrEqual(40_000);
    expect(piece.startsWith(sent?.text ?? "nothing")).toBe(true);
    expect(sent?.notice).toMatch(/PROVIDER_STREAM_TRUNCATED.*a text of 4,000,000 characters/);
    expect((await harness.transcript()).at(-1)?.content).toBe(piece.repeat(8));
  });

  it("aborts a turn that takes longer than its deadline", async () => {
    const harness = await start({
      limits: { turnTimeoutMs: 50 },
      script: async ({ options }) => hang(options.signal),
    });
    await expect(harness.say("hi")).rejects.toMatchObject({ code: "RUNTIME_TURN_TIMEOUT" });
  });

  it("sends a reply again until the channel takes it", async () => {
    let tries = 0;
    const harness = await start({
      script: echo,
      send: async () => {
        if (++tries < 2) throw new Error("away");
        return { primary: "id-1", overflow: [] };
      },
    });
    await harness.say("hi");
    await expect.poll(() => tries).toBe(2);
  });

  it("stores what an OpenAI-style request brings along as the history of its new conversation", async () => {
    const harness = await start({ script: echo });
    await harness.say("and?", {
      history: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
      ],
    });
    expect(harness.requests[0]?.messages.map(({ role, content }) => [role, content])).toEqual([
      ["system", "Be kind."],
      ["user", "one"],
      ["assistant", "two"],
      ["user", "and?"],
    ]);
  });

  it("hands an image to the model and keeps it beside the transcript", async () => {
    const harness = await start({ script: () => [text("nice"), end()] });
    const data = Buffer.from("not really a png").toString("base64");
    await harness.say("look", { attachments: [{ name: "a.png", mediaType: "image/png", data }] });
    expect(harness.requests[0]?.messages.at(-1)?.content).toEqual([
      { type: "text", text: "look" },
      { type: "image", mediaType: "image/png", data },
    ]);
    const [row] = await harness.transcript();
    expect(row?.metadata.attachments).toMatchObject([{ name: "a.png", size: 16 }]);
  });

  it("lets hooks change what the model sees and what is answered, in order of priority", async () => {
    const seen: string[] = [];
    const before = (name: string, priority: number) => ({
      name,
      event: "turn:before" as const,
      priority,
      run: async (context: { text: string }) => {
        seen.push(name);
        return { ...context, text: `${context.text} ${name}` } as never;
      },
    });
    const harness = await start({
      script: echo,
      hooks: [
        before("late", 90),
        before("early", 10),
        {
          name: "sign",
          event: "turn:after",
          priority: 50,
          run: async (context) => ({ ...context, reply: `${context.reply} -- C.` }),
        },
        { name: "broken", event: "turn:after", priority: 60, run: () => Promise.reject(new Error("broken hook")) },
      ],
    });
    expect((await harness.say("hi")).text).toBe("you said: hi early late -- C.");
    expect(seen).toEqual(["early", "late"]);
    const rows = await harness.transcript();
    expect(rows.map(({ content }) => content)).toEqual(["hi", "you said: hi early late -- C."]);
  });

  it("ends every turn whatever is said in it: NUL, halves of characters, long names, deep arguments", async () => {
    const poison = "a\0b\ud800c";
    const deep = JSON.parse(`${'{"a":'.repeat(600)}1${"}".repeat(600)}`) as Record<string, unknown>;
    const harness = await start({
      script: (_request, call) =>
        call === 1
          ? [
              text(poison),
              toolCall(poison, "say", { text: poison }),
              toolCall("x".repeat(5_000), "n".repeat(10_000)),
              toolCall("c3", "say", deep),
              end("tool_calls"),
            ]
          : [text(poison), end()],
      tools: [tool("say", async () => ({ content: poison }))],
    });
    const result = await harness.say(poison, {
      externalId: poison,
      session: poison,
      history: [{ role: "user", content: poison }],
    });
    expect(result.text).toContain("a\ufffdb");
    const rows = await harness.transcript();
    expect(rows.map(({ role, tool_name }) => tool_name?.slice(0, 5) ?? role)).toEqual([
      "user",
      "user",
      "assistant",
      "say",
      "nnnnn",
      "say",
      "assistant",
    ]);
    expect(JSON.stringify(rows)).not.toContain("\\u0000");
    expect((await harness.say("next", { session: poison })).interrupted).toBe(false);
  });

  it("tells of a turn that does not exist", async () => {
    const harness = await start({ script: echo });
    const unknown = "018f0000-0000-7000-8000-000000000000";
    for (const malformed of ["x", "'", "%00"]) {
      const read = harness.turns.read(harness.agentName, malformed);
      await expect(read).rejects.toMatchObject({ code: "RUNTIME_TURN_UNKNOWN" });
    }
    await expect(harness.turns.read(harness.agentName, unknown)).rejects.toMatchObject({
      code: "RUNTIME_TURN_UNKNOWN",
    });
  });
});
