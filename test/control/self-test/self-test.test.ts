import { describe, expect, it } from "vitest";
import { type SelfTestRequest, selfTest } from "../../../control/self-test/self-test.ts";
import type { Health } from "../../../runtime/client/index.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";

type FakeClient = SelfTestRequest["client"];

const health: Health = {
  status: "healthy",
  version: "1.2.3",
  node: { id: "n1", name: "box" },
  uptime_s: 1,
  started_at: "2030-01-01T00:00:00Z",
  draining: false,
  agents: { main: { provider: "offline", model: "offline", active_turns: 0, queued: 0 } },
  providers: { offline: { available: true, model: "offline", circuits: [] } },
  channels: { agent: { platform: "http", state: "up" } },
  memory: {},
  queues: [],
  mesh: { enabled: false },
  schema_version: 4,
};

/** A node that works: what is said to it is found again. */
function workingNode(): FakeClient & { said: string[] } {
  const said: string[] = [];
  const reply = { type: "turn.finished", turn_id: "t", session: "s", text: "Fine.", usage: {}, interrupted: false };
  return {
    said,
    health: async () => health,
    ready: async () => true,
    async *stream(_agent, { text }) {
      said.push(text);
      yield reply as never;
    },
    memoryTool: (async (name: string) => {
      if (name === "memory_stats") {
        return {
          messages: { total: 2 },
          queues: [{ queue: "embed", waiting: 1, failed: 0 }],
          database: { backend: "embedded", schema_version: 4 },
        };
      }
      if (name === "memory_search") return { results: said.map((content) => ({ content, conversation_id: "c" })) };
      return { messages: [{ role: "assistant", content: "Fine." }] };
    }) as FakeClient["memoryTool"],
  };
}

function run(client: FakeClient, more: Partial<SelfTestRequest> = {}) {
  const signal = new AbortController().signal;
  return selfTest({ client, agent: "main", quick: false, marker: "zx1", timeoutMs: 5_000, signal, ...more });
}

const statuses = (result: Awaited<ReturnType<typeof run>>) =>
  Object.fromEntries(result.steps.map(({ name, status }) => [name, status]));

describe("the self-test", () => {
  it("goes once through everything", async () => {
    const result = await run(workingNode());
    expect(result).toMatchObject({ schema: 1, status: "pass", session: "self-test-zx1" });
    expect(result.steps.map(({ status }) => status)).toEqual(["pass", "pass", "pass", "pass", "skip", "pass", "pass"]);
  });

  it("says of each channel and each provider how it is, and asks each provider by an agent that has it", async () => {
    const provider = { available: true, model: "m", circuits: [] };
    const node = workingNode();
    const asked: string[] = [];
    const several: FakeClient = {
      ...node,
      health: async () => ({
        ...health,
        agents: {
          main: health.agents["main"] ?? { provider: "", model: "", active_turns: 0, queued: 0 },
          iris: { provider: "broken", model: "m", active_turns: 0, queued: 0 },
        },
        providers: { ...health.providers, broken: provider, spare: { ...provider, available: false } },
        channels: {
          agent: { platform: "http", state: "up" },
          bot: { platform: "x", state: "down", reason: "revoked" },
        },
      }),
      async *stream(agent, message) {
        asked.push(agent);
        if (agent === "main") return yield* node.stream(agent, message);
        yield {
          type: "turn.failed",
          turn_id: "t",
          error: { code: "PROVIDER_UNAUTHORIZED", message: "no key", hint: "Give a key." },
        } as never;
      },
    };
    const result = await run(several);
    expect(asked).toEqual(["main", "iris"]);
    expect(result.status).toBe("fail");
    const partsOf = (name: string) => result.steps.find((step) => step.name === name)?.parts ?? [];
    expect(partsOf("channel")).toMatchObject([
      { id: "agent", status: "pass", code: null, fix: null },
      { id: "bot", status: "fail", code: "CHANNEL_CONNECTION_LOST", message: "down: revoked" },
    ]);
    expect(partsOf("provider")).toMatchObject([
      { id: "offline", status: "pass" },
      { id: "broken", status: "fail", code: "PROVIDER_UNAUTHORIZED", fix: "Give a key." },
      { id: "spare", status: "fail", code: "PROVIDER_UNREACHABLE" },
    ]);
    // What was said to the agent that answers is found all the same.
    expect(statuses(result)).toMatchObject({ provider: "fail", recall: "pass" });
  });

  /** Two agents with a provider each; `change` is what the node says of the first one's model after its turn. */
  function withFallback(change: object | null, before: object | null = null): FakeClient {
    const node = workingNode();
    const circuits = (circuit: object | null) =>
      circuit === null
        ? []
        : [{ model: "m", failures: 0, retry_after_s: null, last_error: "PROVIDER_TIMEOUT", ...circuit }];
    const agent = { model: "m", active_turns: 0, queued: 0 };
    return {
      ...node,
      health: async () =>
        ({
          ...health,
          agents: { main: { ...agent, provider: "one" }, iris: { ...agent, provider: "two" } },
          providers: {
            one: { available: true, model: "m", circuits: circuits(node.said.length === 0 ? before : change) },
            two: { available: true, model: "m", circuits: [] },
          },
        }) as unknown as Health, // Circuits are given in part.
    };
  }
  const providersOf = (result: Awaited<ReturnType<typeof run>>) =>
    result.steps.find(({ name }) => name === "provider")?.parts ?? [];

  it.each([
    ["has failed calls", null, { state: "closed", failures: 1 }, "fail"],
    ["has more failed calls", { state: "closed", failures: 1 }, { state: "closed", failures: 2 }, "fail"],
    ["is suspended", { state: "closed", failures: 4 }, { state: "open" }, "fail"],
    ["stays suspended", { state: "open" }, { state: "open" }, "fail"],
    ["had failed calls before", { state: "closed", failures: 2 }, { state: "closed", failures: 2 }, "pass"],
    ["works again", { state: "open" }, null, "pass"],
  ])(
    "goes by the calls of a provider, not by a fallback's answer: one that %s",
    async (_what, before, after, status) => {
      const result = await run(withFallback(after, before));
      expect(providersOf(result)).toMatchObject([
        { id: "one", status, ...(status === "fail" && { code: "PROVIDER_TIMEOUT" }) },
        { id: "two", status: "pass" },
      ]);
      expect(statuses(result)).toMatchObject({ provider: status, recall: "pass" });
    },
  );

  it("gives each provider a deadline of its own, and keeps what the others have said", async () => {
    const node = withFallback(null);
    const result = await run(
      {
        ...node,
        async *stream(agent, message) {
          // It does not listen to its signal.
          if (agent === "iris") await new Promise(() => {});
          yield* node.stream(agent, message);
        },
      },
      { timeoutMs: 300 },
    );
    expect(providersOf(result)).toMatchObject([
      { id: "one", status: "pass" },
      { id: "two", status: "fail", code: "PROVIDER_TIMEOUT", message: "iris: not done after 0.3 s" },
    ]);
  });

  it("asks no model and writes nothing when it is to be quick", async () => {
    const node = workingNode();
    const result = await run(node, { quick: true });
    expect(node.said).toEqual([]);
    expect(statuses(result)).toMatchObject({ provider: "pass", recall: "skip" });
    expect(result).toMatchObject({ status: "pass", session: null });
  });

  it("skips the rest when the node does not answer, and says what to do", async () => {
    const result = await run({
      ...workingNode(),
      health: async () => {
        throw new RuntimeError("RUNTIME_NOT_RUNNING", "No node is running.", { hint: "Start it." });
      },
    });
    expect(statuses(result)).toEqual({
      node: "fail",
      store: "skip",
      queue: "skip",
      channel: "skip",
      sandbox: "skip",
      provider: "skip",
      recall: "skip",
    });
    expect(result.steps[0]).toMatchObject({ message: "No node is running.", fix: "Start it." });
  });

  it.each<[string, (node: FakeClient) => Partial<FakeClient>, Record<string, string>]>([
    ["a node that drains", () => ({ ready: async () => false }), { node: "fail" }],
    [
      "a channel that is down",
      () => ({ health: async () => ({ ...health, channels: { bot: { platform: "x", state: "down" } } }) }),
      { node: "pass", channel: "fail", recall: "pass" },
    ],
    [
      "a turn that fails",
      () => ({
        async *stream() {
          yield { type: "turn.failed", turn_id: "t", error: { code: "PROVIDER_OVERLOADED", message: "busy" } } as never;
        },
      }),
      { provider: "fail", recall: "skip", store: "pass" },
    ],
    [
      "a turn without a word",
      () => ({
        async *stream() {
          yield { type: "turn.finished", text: " " } as never;
        },
      }),
      { provider: "fail", recall: "skip" },
    ],
    [
      "a search that finds nothing",
      (node) => ({
        memoryTool: (async (name: string, args: object) =>
          name === "memory_search" ? { results: [] } : node.memoryTool(name, args)) as FakeClient["memoryTool"],
      }),
      { provider: "pass", recall: "fail" },
    ],
    [
      "a transcript without the reply",
      (node) => ({
        memoryTool: (async (name: string, args: object) =>
          name === "memory_browse"
            ? { messages: [{ role: "assistant", content: "Fin" }] }
            : node.memoryTool(name, args)) as FakeClient["memoryTool"],
      }),
      { recall: "fail" },
    ],
    [
      "dead jobs",
      () => ({
        memoryTool: (async () => ({
          messages: { total: 0 },
          queues: [{ queue: "embed", waiting: 0, failed: 3 }],
          database: { backend: "postgres", schema_version: 4 },
        })) as FakeClient["memoryTool"],
      }),
      { queue: "fail", store: "pass" },
    ],
  ])("notices %s", async (_what, broken, expected) => {
    const node = workingNode();
    const result = await run({ ...node, ...broken(node) });
    expect(statuses(result)).toMatchObject(expected);
    expect(result.status).toBe("fail");
    expect(result.steps.find(({ status }) => status === "fail")?.fix).toBeTruthy();
  });

  it("warns where agents' commands would be refused, and passes all the same", async () => {
    const missing = { problem: "bubblewrap (bwrap) is not installed", fix: "Install it." };
    const result = await run(workingNode(), { sandbox: async () => missing });
    expect(result.status).toBe("pass");
    expect(result.steps.find(({ name }) => name === "sandbox")).toMatchObject({
      status: "warn",
      message: "commands of agents are refused: bubblewrap (bwrap) is not installed",
      fix: "Install it.",
    });
    expect(statuses(await run(workingNode(), { sandbox: async () => null }))).toMatchObject({ sandbox: "pass" });
  });

  it.each([
    [{ memory: { reachable: false } }, "It cannot reach its database.", "cairn doctor --only database"],
    [{ draining: true }, "It drains.", "cairn logs"],
  ])("does not advise to start a node that runs: %j", async (parts, message, hint) => {
    const result = await run({
      ...workingNode(),
      health: async () => ({ ...health, ...parts }),
      ready: async () => false,
    });
    expect(result.steps[0]).toMatchObject({
      status: "fail",
      message: expect.stringContaining(message),
      fix: expect.stringContaining(hint),
    });
    expect(result.steps[0]?.fix).not.toContain("cairn start");
  });

  it("ends a step that hangs, also one that does not listen to its signal", async () => {
    const result = await run(
      { ...workingNode(), memoryTool: () => new Promise(() => {}) },
      { timeoutMs: 30, quick: true },
    );
    expect(statuses(result)).toMatchObject({ node: "pass", store: "fail", queue: "fail", channel: "pass" });
  });

  it("ends as a whole when it is interrupted", async () => {
    const controller = new AbortController();
    const reason = new Error("interrupted");
    const node = workingNode();
    const health = (): Promise<never> => {
      controller.abort(reason);
      return Promise.reject(new Error("aborted"));
    };
    await expect(run({ ...node, health }, { signal: controller.signal })).rejects.toBe(reason);
  });
});
