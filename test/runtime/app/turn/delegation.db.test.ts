/** A turn hands a task to another agent, or to a session of its own, and goes on with the reply: without a place, over restarts. */

import { randomUUID } from "node:crypto";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { ToolRegistry } from "../../../../runtime/app/tool-registry.ts";
import { ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook, HookContexts, HookEvent } from "../../../../runtime/contracts/hooks.ts";
import type { Message } from "../../../../runtime/contracts/message.ts";
import type { ChatChunk } from "../../../../runtime/contracts/provider.ts";
import type { Tool, ToolContext } from "../../../../runtime/contracts/tool.ts";
import { startOpenAiFake } from "../../../fakes/openai/index.ts";
import { composedNode } from "../../../support/composed-node.ts";
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

type Handing = (context: ToolContext, args: Readonly<Record<string, unknown>>) => Promise<string>;

function tool(name: string, hand: Handing): Tool {
  return {
    name,
    description: name,
    parameters: { type: "object" },
    execute: async (args, _signal, context) => ({ content: context ? await hand(context, args) : "" }),
  };
}

/** The text of the turn's own message, and what its calls have returned so far. */
function seen(messages: readonly Message[]) {
  const from = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(from + 1).filter(({ role }) => role === "tool");
  return { task: String(messages[from]?.content), results: results.map(({ content }) => String(content)) };
}

describeEachDatabase("turns that delegate", (open, database) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">, kept = true): Promise<Harness> {
    const harness = await startHarness({ database: await open(), moreAgents: ["b", "c", "d", "e"], ...options });
    if (kept) running.push(harness);
    return harness;
  }

  /** A name for the agents that the tests delegate to: all share one store. */
  const unique = () => `lead-${randomUUID().slice(0, 8)}`;

  /** `hand X: TASK` delegates TASK to the agent X; everything else is answered. */
  const script = ({ messages }: { readonly messages: readonly Message[] }): readonly ChatChunk[] => {
    const { task, results } = seen(messages);
    const handed = /^hand (\S+): (.*)$/s.exec(task);
    if (!handed) return [text(`did ${task}`), end()];
    if (results.length > 0) return [text(`got (${results.join(", ")})`), end()];
    return [toolCall("c1", "hand", { agent: handed[1], message: handed[2] }), end("tool_calls")];
  };

  /** Delegates as the model says; `own` spawns. */
  function handing(lead: string, counts = { begun: 0 }, deadlineMs?: number): Tool {
    return tool("hand", async (context, { agent, message }) => {
      counts.begun++;
      const task = { message: String(message), ...(deadlineMs === undefined ? {} : { deadlineMs }) };
      const reply = await (agent === "own"
        ? context.spawn(task)
        : context.delegate({ ...task, agent: agent === "lead" ? lead : `${lead}-${String(agent)}` }));
      return reply.text;
    });
  }

  async function states(harness: Harness) {
    const { rows } = await (await open()).query<{ agent: string; state: string }>(
      "select agent, state from turns where agent like $1 order by seq",
      [`${harness.agentName}%`],
    );
    return rows.map(({ agent, state }) => `${agent.slice(harness.agentName.length) || "lead"} ${state}`);
  }

  it("brings the reply of another agent back, in a session of its own, sent to nobody else", async () => {
    const name = unique();
    const counts = { begun: 0 };
    const limits = { maxActiveTurns: 1, maxTurnsOfOthers: 1, maxTurnsOfOneUser: 1 };
    const harness = await start({ script, agent: { name }, tools: [handing(name, counts)], limits });
    const result = await harness.say("hand b: the sums");
    expect(result).toMatchObject({ text: "got (did the sums)", interrupted: false });
    expect(counts.begun).toBe(2);
    expect(await states(harness)).toEqual(["lead done", "-b done"]);
    await expect.poll(() => harness.sent.map((message) => message.text)).toEqual(["got (did the sums)"]);
    const { rows } = await (await open()).query<{ session_key: string }>(
      "select session_key from turns where agent = $1",
      [`${name}-b`],
    );
    expect(rows[0]?.session_key).not.toContain(":s1:");
  });

  it("shows those who follow the waiting turn what the other one does", async () => {
    const go = Promise.withResolvers<void>();
    const lead = unique();
    const harness = await start({
      agent: { name: lead },
      tools: [handing(lead)],
      script: async (request) => {
        // Where nothing is shown the test ends by its deadline, and the turn with its node.
        request.options.signal?.addEventListener("abort", () => go.resolve());
        if (seen(request.messages).task === "wait") await go.promise;
        return script(request);
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("hand b: wait"));
    const said: string[] = [];
    for await (const { event } of harness.turns.events(lead, turnId)) {
      if (event.type !== "tool.progress") continue;
      said.push(event.text);
      // Only now does the other one go on: what it does is shown while it does it.
      go.resolve();
    }
    expect(said[0]).toBe(`${lead}-b: begins`);
  });

  it("goes three levels down with a single place for turns, and refuses the fourth", async () => {
    const name = unique();
    const harness = await start({ script, agent: { name }, tools: [handing(name)], limits: { maxActiveTurns: 1 } });
    expect((await harness.say("hand b: hand c: hand d: the sums")).text).toBe("got (got (got (did the sums)))");
    const { text: refused } = await harness.say("hand b: hand c: hand d: hand e: the sums");
    expect(refused).toContain("got (got (got (got (DELEGATION_TOO_DEEP");
  });

  it.each([
    ["hand x: do", "DELEGATION_NO_TARGET"],
    ["hand lead: do", "DELEGATION_CYCLE"],
    ["hand b: hand lead: do", "DELEGATION_CYCLE"],
    ["hand b:  ", "TOOL_INVALID_ARGUMENTS"],
    ["hand own: do", "got (did do)"],
    ["hand own: hand own: hand own: hand own: do", "DELEGATION_TOO_DEEP"],
  ])("%s: %s", async (task, said) => {
    const name = unique();
    const harness = await start({ script, agent: { name }, tools: [handing(name)] });
    expect((await harness.say(task)).text).toContain(said);
  });

  it("is shown as a turn that runs: nobody has to answer, and nobody can", async () => {
    const name = unique();
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const harness = await start({
      agent: { name },
      tools: [handing(name)],
      script: async (request) => {
        if (seen(request.messages).task !== "slowly") return script(request);
        begun.resolve();
        await go.promise;
        return [text("did slowly"), end()];
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("hand b: slowly"));
    await begun.promise;
    expect(await harness.turns.read(name, turnId)).toMatchObject({ state: "running" });
    expect(await states(harness)).toEqual(["lead waiting", "-b running"]);
    expect(await harness.command("/status")).toMatchObject({ data: { turn_id: turnId, waiting: false } });
    expect(await harness.command("/answer made up")).toMatchObject({ data: { answered: false } });
    await expect(harness.turns.answer({ agent: name, turnId, text: "made up", by: "" })).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
    });
    const behind = await harness.turns.accept(harness.message("behind"));
    go.resolve();
    expect((await harness.turns.wait(name, turnId)).text).toBe("got (did slowly)");
    expect((await harness.turns.wait(name, behind.turnId)).text).toBe("did behind");
  });

  it("stops what it has handed on, at every level, when it is stopped", async () => {
    const name = unique();
    const begun = Promise.withResolvers<void>();
    const harness = await start({
      agent: { name },
      tools: [
        handing(name),
        {
          ...tool("work", async () => ""),
          execute: async (_args, signal) => {
            begun.resolve();
            return hang(signal);
          },
        },
      ],
      script: (request) =>
        seen(request.messages).task === "work" ? [toolCall("w", "work"), end("tool_calls")] : script(request),
    });
    const { turnId } = await harness.turns.accept(harness.message("hand b: hand own: work"));
    await begun.promise;
    expect(await states(harness)).toEqual(["lead waiting", "-b waiting", "-b running"]);
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    expect(await harness.turns.wait(name, turnId)).toMatchObject({ interrupted: true, notice: "Stopped." });
    await expect.poll(() => states(harness)).toEqual(["lead aborted", "-b aborted", "-b aborted"]);
  });

  it("goes on after the deadline without the other turn, which is stopped", async () => {
    const name = unique();
    const harness = await start({
      agent: { name },
      tools: [handing(name, { begun: 0 }, 300)],
      script: async (request) => {
        if (seen(request.messages).task === "for ever") return hang(request.options.signal);
        return script(request);
      },
    });
    expect((await harness.say("hand b: for ever")).text).toContain("DELEGATION_TIMEOUT");
    await expect.poll(() => states(harness)).toEqual(["lead done", "-b aborted"]);
  });

  it("is told why the other turn failed", async () => {
    const name = unique();
    const harness = await start({
      agent: { name },
      tools: [handing(name)],
      script: (request) => {
        if (seen(request.messages).task === "fail") throw new Error("the model is broken");
        return script(request);
      },
    });
    const { text: said } = await harness.say("hand b: fail");
    expect(said).toContain("DELEGATION_FAILED");
    expect(await states(harness)).toEqual(["lead done", "-b failed"]);
  });

  it("is kept over a restart while the other turn works", async () => {
    const name = unique();
    const counts = { begun: 0 };
    const begun = Promise.withResolvers<void>();
    const options = { agent: { name }, tools: [handing(name, counts)] };
    const doomed = await start(
      {
        ...options,
        script: async (request) => {
          if (seen(request.messages).task !== "the sums") return script(request);
          begun.resolve();
          return hang();
        },
      },
      false,
    );
    const { turnId } = await doomed.turns.accept(doomed.message("hand b: the sums"));
    await begun.promise;
    await doomed.die();
    const next = await start({ ...options, ...doomed.next, script });
    expect(await next.turns.wait(name, turnId)).toMatchObject({ text: "got (did the sums)", interrupted: false });
    expect(counts.begun).toBe(2);
    expect(await states(next)).toEqual(["lead done", "-b done"]);
  });

  it("lets the other turn neither ask nor deliver: between it and the user is a turn", async () => {
    const name = unique();
    const harness = await start({
      agent: { name },
      tools: [
        handing(name),
        tool("ask", async (context) => (await context.ask({ text: "Which?" })).kind),
        tool("say", async (context) => context.deliver("A word.").then(() => "said")),
      ],
      script: (request) => {
        const { task, results } = seen(request.messages);
        if (task !== "talk") return script(request);
        return results.length > 0
          ? [text(results.join(" ")), end()]
          : [toolCall("a", "ask"), toolCall("s", "say"), end("tool_calls")];
      },
    });
    const { text: said } = await harness.say("hand b: talk");
    expect(said.match(/TOOL_REFUSED: This turn was begun by another agent/g)).toHaveLength(2);
    await expect.poll(() => harness.sent.map((message) => message.text)).toEqual([said]);
  });

  it("asks the user and delegates in one call, each once, in their order", async () => {
    const name = unique();
    const harness = await start({
      agent: { name },
      tools: [
        tool("hand", async (context) => {
          const { text: first } = await context.delegate({ agent: `${name}-b`, message: "the first" });
          const answer = await context.ask({ text: `${first}. Go on?` });
          const { text: second } = await context.spawn({ message: "the second" });
          return [first, answer.kind === "answered" ? answer.text : "-", second].join(", ");
        }),
      ],
      script: (request) => {
        if (seen(request.messages).task !== "go") return script(request);
        const { results } = seen(request.messages);
        return results.length > 0 ? [text(results.join("")), end()] : [toolCall("c", "hand"), end("tool_calls")];
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect
      .poll(() => harness.turns.read(name, turnId), { interval: 20 })
      .toMatchObject({ state: "waiting", question: { text: "did the first. Go on?" } });
    await harness.turns.answer({ agent: name, turnId, text: "yes", by: "" });
    expect((await harness.turns.wait(name, turnId)).text).toBe("did the first, yes, did the second");
    expect(await states(harness)).toEqual(["lead done", "-b done", "lead done"]);
  });

  it("runs the hooks of delegation, which may change the task and the reply, or refuse", async () => {
    const name = unique();
    const hook = (event: HookEvent, run: (context: never) => Promise<unknown>): AnyHook =>
      ({ name: "probe", event, priority: 50, run }) as AnyHook;
    const harness = await start({
      script,
      agent: { name },
      tools: [handing(name)],
      hooks: [
        hook("delegation:before", async (context: { task: string; target: string }) => {
          if (context.task === "secret") throw new Error("not that");
          return { ...context, task: `${context.task} of ${context.target.slice(name.length)}` };
        }),
        hook("delegation:after", async (context: { result: string }) => ({ ...context, result: `${context.result}!` })),
        hook("tool:before", async (context: ToolContext) => {
          await context.delegate({ agent: `${name}-b`, message: "by a hook" }).catch(() => undefined);
        }),
      ],
    });
    expect((await harness.say("hand b: sums")).text).toBe("got (did sums of -b!)");
    expect((await harness.say("hand b: secret")).text).toContain("RUNTIME_INTERNAL");
    expect(await states(harness)).toEqual(["lead done", "-b done", "lead done"]);
  });

  /** Hooks of both events that keep what they get; those after a task mark what the model reads. */
  function watching() {
    const seen: string[] = [];
    const hooks = [
      {
        name: "watch",
        event: "delegation:before",
        priority: 50,
        run: async ({ task, ...rest }: HookContexts["delegation:before"]) => {
          seen.push(`before ${task}`);
          return { ...rest, task: `please ${task}` };
        },
      },
      {
        name: "watch",
        event: "delegation:after",
        priority: 50,
        run: async (context: HookContexts["delegation:after"]) => {
          seen.push(`after ${context.task}: ${context.ok ? "ok" : "failed"}, ${context.result}`);
          return { ...context, result: `${context.result}!` };
        },
      },
    ] as unknown as AnyHook[];
    return { seen, hooks };
  }

  it("shows hooks each task once before and once after, though its call is executed again for the next one", async () => {
    const name = unique();
    const { seen: shown, hooks } = watching();
    const harness = await start({
      agent: { name },
      hooks,
      tools: [
        tool("hand", async (context) => {
          const replies: string[] = [];
          for (const message of ["the first", "the second", "the third"]) {
            replies.push((await context.delegate({ agent: `${name}-b`, message })).text);
          }
          return replies.join(", ");
        }),
      ],
      script: (request) => {
        if (seen(request.messages).task !== "go") return script(request);
        const { results } = seen(request.messages);
        return results.length > 0 ? [text(results.join("")), end()] : [toolCall("c", "hand"), end("tool_calls")];
      },
    });
    const said = ["the first", "the second", "the third"].map((task) => `did please ${task}!`).join(", ");
    expect((await harness.say("go")).text).toBe(said);
    expect(shown).toEqual(
      ["the first", "the second", "the third"].flatMap((task) => [
        `before ${task}`,
        `after please ${task}: ok, did please ${task}`,
      ]),
    );
  });

  it("shows hooks the tasks of calls side by side once each", async () => {
    const name = unique();
    const { seen: shown, hooks } = watching();
    const side = { ...handing(name), parallel: true };
    const harness = await start({
      agent: { name },
      hooks,
      tools: [side],
      script: (request) => {
        const { task, results } = seen(request.messages);
        if (task !== "go") return script(request);
        if (results.length > 0) return [text(results.join(", ")), end()];
        const calls = ["b", "c"].map((agent) => toolCall(agent, "hand", { agent, message: `sums of ${agent}` }));
        return [...calls, end("tool_calls")];
      },
    });
    expect((await harness.say("go")).text).toBe("did please sums of b!, did please sums of c!");
    expect(shown.filter((line) => line.startsWith("before")).toSorted()).toEqual([
      "before sums of b",
      "before sums of c",
    ]);
    expect(shown.filter((line) => line.startsWith("after"))).toHaveLength(2);
  });

  it("shows hooks the end of a task once where the waiting turn's process has died, and that of one that failed", async () => {
    const name = unique();
    const { seen: shown, hooks } = watching();
    const begun = Promise.withResolvers<void>();
    const first = await start(
      {
        agent: { name },
        hooks,
        tools: [handing(name)],
        script: async (request) => {
          if (seen(request.messages).task !== "please the sums") return script(request);
          begun.resolve();
          return hang(request.options.signal);
        },
      },
      false,
    );
    const { turnId } = await first.turns.accept(first.message("hand b: the sums"));
    await begun.promise;
    await first.die();
    const failing = await start({
      agent: { name },
      node: first.node.id,
      hooks,
      tools: [handing(name)],
      script: (request) => {
        if (seen(request.messages).task === "please the sums")
          throw new ProviderError("PROVIDER_REJECTED_REQUEST", "no");
        return script(request);
      },
    });
    const { text: said } = await failing.turns.wait(name, turnId);
    expect(said).toContain("DELEGATION_FAILED: The other agent's turn failed: no (PROVIDER_REJECTED_REQUEST)!");
    expect(shown).toEqual([
      "before the sums",
      "after please the sums: failed, The other agent's turn failed: no (PROVIDER_REJECTED_REQUEST)",
    ]);
  });

  it("works in a whole node, whose user follows the one turn", async () => {
    const fake = await startOpenAiFake();
    onTestFinished(() => fake.close());
    fake.setScript(({ lastUser, step, results }) =>
      lastUser !== "delegate"
        ? { text: `did ${lastUser}` }
        : step === 0
          ? { toolCalls: [{ id: "c1", name: "hand", arguments: {} }] }
          : { text: `got ${results?.at(-1)?.text ?? ""}` },
    );
    const hand = tool("hand", async (context) => {
      const { text: reply } = await context.delegate({ agent: "helper", message: "the sums" });
      return reply;
    });
    const snapshot = ToolRegistry.prototype.snapshot;
    vi.spyOn(ToolRegistry.prototype, "snapshot").mockImplementation(function (this: ToolRegistry) {
      const { version, tools } = snapshot.call(this);
      return { version, tools: [...tools, hand] };
    });
    const node = await composedNode({
      store: database,
      config: {
        providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
        agents: { main: { provider: "model" }, helper: { provider: "model" } },
      },
    });
    expect(await node.say("delegate")).toBe("got did the sums");
  });
});
