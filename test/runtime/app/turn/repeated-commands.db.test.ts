/** A command that its platform brings again, since nobody heard that it was carried out: it writes once what it says. */

import { afterEach, expect, it } from "vitest";
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

describeEachDatabase("a command that comes again", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    const harness = await startHarness({ database: await open(), ...options });
    running.push(harness);
    return harness;
  }

  /** As often as it is brought: `id` is the platform's own of the message. */
  const bring = (harness: Harness, line: string, id: string) =>
    harness.commands.run({
      address: { channel: harness.channel.id, conversation: "s1", user: "" },
      agent: harness.agentName,
      line,
      owner: true,
      externalId: id,
    });

  const last = (harness: Harness) => harness.requests.map(({ messages }) => String(messages.at(-1)?.content));

  /** Asks the user as often as it is called. */
  const asker: Tool = {
    name: "ask",
    description: "ask",
    parameters: { type: "object" },
    execute: async ({ what }, _signal, context) => {
      const given = await context?.ask({ text: String(what) });
      return { content: given?.kind === "answered" ? given.text : "none" };
    },
  };

  it("runs the text of /interrupt once, and ends nothing that has begun meanwhile", async () => {
    const harness = await start({
      script: async ({ messages, options }) => {
        const said = String(messages.at(-1)?.content);
        if (said.startsWith("long")) await hang(options.signal);
        return [text(`re: ${said}`), end()];
      },
    });
    await harness.turns.accept(harness.message("long one"));
    await expect.poll(() => harness.requests.length).toBe(1);
    const { data } = await bring(harness, "/interrupt pay the bill", "7");
    await harness.turns.wait(harness.agentName, String(data?.["turn_id"]));
    const after = await harness.turns.accept(harness.message("long two"));
    await expect.poll(() => harness.requests.length).toBe(3);
    expect((await bring(harness, "/interrupt pay the bill", "7")).data).toEqual({ ...data, interrupted: false });
    expect((await harness.turns.read(harness.agentName, after.turnId)).state).toBe("running");
    expect((await bring(harness, "/interrupt pay the bill", "8")).data).toMatchObject({ interrupted: true });
    await expect.poll(() => last(harness).filter((said) => said === "pay the bill")).toHaveLength(2);
  });

  it("ends by /interrupt what still runs before the text", async () => {
    const harness = await start({
      script: async ({ messages, options }) => {
        const said = String(messages.at(-1)?.content);
        if (said === "long") await hang(options.signal);
        return [text(`re: ${said}`), end()];
      },
    });
    await harness.turns.accept(harness.message("long"));
    await expect.poll(() => harness.requests.length).toBe(1);
    // What an attempt leaves behind that failed directly after it.
    const { turnId } = await harness.inbox.accept(harness.message("pay the bill", { externalId: "interrupt:7" }), 1);
    const { data } = await bring(harness, "/interrupt pay the bill", "7");
    expect(data).toEqual({ turn_id: turnId, interrupted: true });
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("re: pay the bill");
  });

  it("shows the text of /steer once, also when another turn runs by now", async () => {
    const harness = await start({
      script: ({ messages }) =>
        messages.at(-1)?.role === "user"
          ? [toolCall(`c${messages.length}`, "ask", { what: "how?" }), end("tool_calls")]
          : [text("Done."), end()],
      tools: [asker],
    });
    const waits = (turnId: string) =>
      expect.poll(async () => (await harness.turns.read(harness.agentName, turnId)).state).toBe("waiting");
    const first = await harness.turns.accept(harness.message("one"));
    await waits(first.turnId);
    for (let n = 0; n < 2; n++) {
      expect((await bring(harness, "/steer be brief", "7")).data).toMatchObject({ steered: true });
    }
    await harness.command("/answer ok");
    await harness.turns.wait(harness.agentName, first.turnId);
    expect((await bring(harness, "/steer be brief", "7")).data).toMatchObject({ steered: true });
    const second = await harness.turns.accept(harness.message("two"));
    await waits(second.turnId);
    await bring(harness, "/steer be brief", "7");
    const rows = await harness.transcript();
    expect(rows.filter(({ role }) => role === "system").map(({ content }) => content)).toEqual(["be brief"]);
    expect(await harness.store.steps.waitingSteers(second.turnId)).toEqual([]);
  });

  it("answers by /answer the question that it has answered, and no later one of the turn", async () => {
    const harness = await start({
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === "tool");
        return results.length === 2
          ? [text(results.map(({ content }) => content).join(", ")), end()]
          : [toolCall(`c${results.length}`, "ask", { what: `${results.length}?` }), end("tool_calls")];
      },
      tools: [asker],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    const asked = async () => {
      const state = await harness.turns.read(harness.agentName, turnId);
      return state.state === "waiting" ? state.question.text : null;
    };
    await expect.poll(asked).toBe("0?");
    await bring(harness, "/answer red", "7");
    await expect.poll(asked).toBe("1?");
    expect((await bring(harness, "/answer red", "7")).data).toEqual({ turn_id: turnId, answered: true });
    expect(await asked()).toBe("1?");
    await bring(harness, "/answer red", "8");
    expect((await harness.turns.wait(harness.agentName, turnId)).text).toBe("red, red");
  });

  it("answers by /answer no question of the next turn, and says that it was answered, once its own turn is over", async () => {
    const harness = await start({
      script: ({ messages }) => {
        const last = messages.at(-1);
        return last?.role === "tool"
          ? [text(`said: ${last.content}`), end()]
          : [toolCall(`c${messages.length}`, "ask", { what: last?.content }), end("tool_calls")];
      },
      tools: [asker],
    });
    const state = async (turnId: string) => (await harness.turns.read(harness.agentName, turnId)).state;
    const first = await harness.turns.accept(harness.message("Which colour?"));
    await expect.poll(() => state(first.turnId)).toBe("waiting");
    const next = await harness.turns.accept(harness.message("Delete everything?"));
    await bring(harness, "/answer yes", "7");
    await harness.turns.wait(harness.agentName, first.turnId);
    await expect.poll(() => state(next.turnId)).toBe("waiting");
    const again = {
      text: "The question was answered already, and its turn is over.",
      data: { turn_id: first.turnId, answered: true },
    };
    expect(await bring(harness, "/answer yes", "7")).toEqual(again);
    expect(await state(next.turnId)).toBe("waiting");
    await bring(harness, "/answer no", "8");
    expect((await harness.turns.wait(harness.agentName, next.turnId)).text).toBe("said: no");
    expect(await bring(harness, "/answer yes", "7")).toEqual(again);
    // Of the same id in another conversation nothing is said.
    const elsewhere = { channel: harness.channel.id, conversation: "s2", user: "" };
    const { agentName: agent } = harness;
    const given = { agent, address: elsewhere, line: "/answer yes", owner: true, externalId: "7" };
    expect((await harness.commands.run(given)).text).toBe("No turn waits for an answer.");
  });
});
