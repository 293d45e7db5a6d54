import { expect, it } from "vitest";
import type { MemoryCaller, MemoryTools } from "../../../../runtime/app/api.ts";
import { MEMORY_TOOL_DEFINITIONS } from "../../../../runtime/app/memory-tools.ts";
import { MemoryError, ToolError } from "../../../../runtime/contracts/errors.ts";
import { createMemoryBrowseTool } from "../../../../runtime/plugins/tools/memory-browse/index.ts";
import { createMemoryGetFullTool } from "../../../../runtime/plugins/tools/memory-get-full/index.ts";
import { createMemorySearchTool } from "../../../../runtime/plugins/tools/memory-search/index.ts";
import { createMemoryStatsTool } from "../../../../runtime/plugins/tools/memory-stats/index.ts";
import { contextFor } from "./support.ts";

interface Call {
  readonly name: string;
  readonly args: unknown;
  readonly caller: MemoryCaller;
}

/** Memory tools that answer with `answer` and note how they were called. */
function memoryTools(answer: unknown): MemoryTools & { readonly calls: Call[] } {
  const calls: Call[] = [];
  return {
    calls,
    names: () => [],
    async call(name, args, caller) {
      calls.push({ name, args, caller });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const hit = (content: string, more: object = {}) => ({
  kind: "message",
  id: "m1",
  conversation_id: "c1",
  agent: "main",
  channel: "agent",
  role: "user",
  content,
  created_at: "2026-01-01T00:00:00.000Z",
  score: 0.123456,
  scores: { fts: 1, semantic: 0, temporal: 0, importance: 0 },
  access_count: 3,
  ...more,
});

it("offers the tools with the arguments that they have everywhere", () => {
  const memory = memoryTools({});
  for (const tool of [
    createMemorySearchTool({ memoryTools: memory }),
    createMemoryBrowseTool({ memoryTools: memory }),
    createMemoryStatsTool({ memoryTools: memory }),
    createMemoryGetFullTool({ memoryTools: memory }),
  ]) {
    expect(tool).toMatchObject(MEMORY_TOOL_DEFINITIONS.find(({ name }) => name === tool.name) ?? {});
    expect(tool.parallel).toBe(true);
  }
});

it("counts the users that a token names as one caller: they share what a caller may cost the store", async () => {
  const memory = memoryTools({ results: [] });
  const tool = createMemorySearchTool({ memoryTools: memory });
  for (const user of ["token:1", "token:1/ann", "token:1/bob/x", "token:10/ann"])
    await tool.execute({ query: "x" }, undefined, contextFor("/ws", { channel: "agent", user }));
  const one = 'turn ["agent","token:1"]';
  expect(memory.calls.map(({ caller }) => caller.name)).toEqual([one, one, one, 'turn ["agent","token:10"]']);
});

it("lets the owner see everything, and everyone else what the same user said on the same channel", async () => {
  const memory = memoryTools({ results: [] });
  const tool = createMemorySearchTool({ memoryTools: memory });
  const controller = new AbortController();
  await tool.execute({ query: "x" }, controller.signal, contextFor("/ws", { channel: "telegram", user: "bob" }));
  await tool.execute({ query: "y" }, undefined, contextFor("/ws", { owner: true }));
  expect(memory.calls).toEqual([
    {
      name: "memory_search",
      args: { query: "x" },
      caller: {
        name: 'turn ["telegram","bob"]',
        visibility: { channel: "telegram", user: "bob" },
        forModel: true,
        signal: controller.signal,
      },
    },
    {
      name: "memory_search",
      args: { query: "y" },
      caller: { name: 'turn ["agent","ada"]', visibility: { all: true }, forModel: true },
    },
  ]);
  await expect(tool.execute({ query: "x" })).rejects.toThrow(ToolError);
});

it("shows hits without what only programs need", async () => {
  const answer = {
    query: "x",
    mode: "hybrid",
    took_ms: 4,
    results: [hit("hello", { kind: "summary", role: null, children: [hit("child")] })],
    answer: { text: "yes", citations: ["m1"] },
  };
  const { content } = await createMemorySearchTool({ memoryTools: memoryTools(answer) }).execute(
    { query: "x" },
    undefined,
    contextFor("/ws"),
  );
  const slim = {
    id: "m1",
    conversation_id: "c1",
    agent: "main",
    channel: "agent",
    created_at: "2026-01-01T00:00:00.000Z",
    score: 0.123,
  };
  expect(JSON.parse(content)).toEqual({
    note: expect.stringContaining("not instructions"),
    query: "x",
    results: [
      {
        ...slim,
        kind: "summary",
        content: "hello",
        children: [{ ...slim, kind: "message", role: "user", content: "child" }],
      },
    ],
    answer: { text: "yes", citations: ["m1"] },
  });
});

it("bounds a result of any size and stays valid JSON", async () => {
  const long = { results: Array.from({ length: 50 }, (_, n) => hit(`${n} ${"é😀".repeat(20_000)}`)) };
  const search = createMemorySearchTool({ memoryTools: memoryTools(long) });
  const { content } = await search.execute({ query: "x" }, undefined, contextFor("/ws"));
  expect(content.length).toBeLessThanOrEqual(24_000);
  expect(content.isWellFormed()).toBe(true);
  const { results } = JSON.parse(content);
  expect(results).toHaveLength(50);
  expect(results[0].content).toMatch(/^0 é😀.*\(\d+ more characters\)$/);

  const many = {
    messages: Array.from({ length: 2_000 }, () => hit("x".repeat(100), { metadata: { a: 1 } })),
    next_cursor: "n",
    looked_until: "2026-01-01T00:00:00.000Z",
  };
  const browse = createMemoryBrowseTool({ memoryTools: memoryTools(many) });
  const page = JSON.parse((await browse.execute({}, undefined, contextFor("/ws"))).content);
  expect(page).toMatchObject({ next_cursor: "n", looked_until: "2026-01-01T00:00:00.000Z" });
  expect(page.messages.length).toBeGreaterThan(10);
  expect(page.messages.at(-1)).toMatch(/^\.\.\. \(\d+ more: ask for fewer at once\)$/);
  expect(page.messages[0].metadata).toBeUndefined();
});

it("tells the model what is wrong with its arguments, and passes other failures on", async () => {
  const issues = [{ path: "limit", message: "too big" }];
  const invalid = createMemorySearchTool({
    memoryTools: memoryTools(
      new MemoryError("MEMORY_INVALID_ARGUMENT", "The arguments are not valid: limit: too big.", { issues }),
    ),
  });
  await expect(invalid.execute({}, undefined, contextFor("/ws"))).rejects.toMatchObject({
    code: "TOOL_INVALID_ARGUMENTS",
    message: "The arguments are not valid: limit: too big.",
    details: { issues },
  });
  const down = createMemorySearchTool({ memoryTools: memoryTools(new MemoryError("MEMORY_UNAVAILABLE", "gone")) });
  await expect(down.execute({}, undefined, contextFor("/ws"))).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
});

it("shows the state of the memory without queues in which nothing happens", async () => {
  const idle = { waiting: 0, active: 0, failed: 0, completed: 7, last_error: null, oldest_waiting_ms: null };
  const answer = {
    messages: { total: 3, embedded: 2, coverage: 2 / 3 },
    embedding_queue_depth: 1,
    queues: [
      { queue: "synth", ...idle },
      { queue: "embed", ...idle, waiting: 1 },
      { queue: "compact", ...idle, last_error: "x" },
    ],
    embedding_model: null,
  };
  const memory = memoryTools(answer);
  const { content } = await createMemoryStatsTool({ memoryTools: memory }).execute(
    { agent: "main" },
    undefined,
    contextFor("/ws", { channel: "telegram", user: "bob" }),
  );
  expect(memory.calls).toMatchObject([
    { name: "memory_stats", args: { agent: "main" }, caller: { visibility: { channel: "telegram", user: "bob" } } },
  ]);
  expect(JSON.parse(content)).toMatchObject({
    messages: { total: 3, embedded: 2, coverage: 0.667 },
    embedding_queue_depth: 1,
    queues: [
      { queue: "embed", waiting: 1 },
      { queue: "compact", last_error: "x" },
    ],
  });
  expect(JSON.parse(content).queues).toHaveLength(2);
});

it("shows a message whole, and of one that is too long for a prompt the most that fits", async () => {
  const row = {
    id: "m1",
    recovered: true,
    source: "payload",
    content: "short",
    tool_args: { a: 1 },
    tool_result: null,
  };
  const full = async (answer: object) => {
    const tool = createMemoryGetFullTool({ memoryTools: memoryTools(answer) });
    const { content } = await tool.execute({ id: "m1" }, undefined, contextFor("/ws", { owner: true }));
    expect(content.length).toBeLessThanOrEqual(24_000);
    return JSON.parse(content);
  };
  const { tool_result: _, ...shown } = row;
  expect(await full(row)).toEqual({ note: expect.stringContaining("not instructions"), ...shown });
  const long = await full({ ...row, tool_result: "x".repeat(1_000_000) });
  expect(long.content).toBe("short");
  expect(long.tool_result).toMatch(/^x{17000}x*\.\.\. \(9\d{5} more characters\)$/);
  const both = await full({ ...row, content: "y".repeat(500_000), tool_result: "x".repeat(500_000) });
  expect(both.content.length).toBeGreaterThan(8_000);
  expect(both.tool_result.length).toBeGreaterThan(8_000);
  const large = await full({ ...row, tool_args: { path: "a.ts", content: "z".repeat(100_000) } });
  expect(large.tool_args).toMatch(/^\{"path":"a\.ts","content":"z{17000}z*\.\.\. \(8\d{4} more characters\)$/);
  const escaped = await full({ ...row, content: '"\n'.repeat(500_000) });
  expect(JSON.stringify(escaped.content).length).toBeGreaterThan(17_000);
  expect(escaped.content).toMatch(/^("\n)+"?\.\.\. \(99\d{4} more characters\)$/);
  const fits = { ...shown, content: "y".repeat(8_000), tool_args: { list: Array(300).fill("0123456789") } };
  expect(await full(fits)).toMatchObject(fits);
});
