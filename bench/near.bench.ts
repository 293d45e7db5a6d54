/**
 * How soon a message is found: from the answer to memory_append until a search by its words, and one by its meaning, has it.
 * A real node with its default intervals, and a real encoder: `--encoder URL`, an OpenAI-compatible one with all-MiniLM-L6-v2.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createOpenaiCompatibleEmbedding } from "../runtime/plugins/embeddings/openai-compatible/index.ts";
import { createDeployment, type NodeProcess } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { messageText, withNode } from "./support/node.ts";
import { MODEL } from "./support/recall/source.ts";

const TIMES = 60;
const POLL_MS = 20;
const GIVE_UP_MS = 60_000;
/** Messages that others append meanwhile, a second, at most: */
const MOST_OTHERS = 10;
/** and at most this share of what the encoder makes when it is asked one text at a time, so that it keeps up. */
const OTHERS_SHARE = 0.3;
const SPEED_TEXTS = 20;

export const bench: Bench = {
  about: "from the answer to memory_append until memory_search finds the message by its words, and by its vector",
  async run(context) {
    const encoder = context.option("encoder");
    if (encoder === undefined) {
      process.stderr.write("  left out: needs --encoder URL\n");
      return;
    }
    const deployment = await createDeployment({
      config: {
        providers: { offline: {} },
        agents: { main: { provider: "offline" } },
        memory: {
          postgres: { connection_string: await context.postgres() },
          embedding: { provider: "openai-compatible", base_url: encoder, model: MODEL },
        },
      },
      env: { SERVICE_MCP_ENABLE_MEMORY_WRITE: "1" },
    });
    context.defer(() => deployment.remove());
    await withNode(deployment, async (node) => {
      // The first vector makes the model's table.
      await foundBy(node, "vector", await append(node, "warm", 0), context.signal);
      await measure(context, node, "one at a time");
      const speed = await speedOf(context, encoder);
      context.value({ name: "texts that the encoder makes vectors of, one at a time", unit: "1/s" }, speed);
      const others = Math.min(MOST_OTHERS, Math.max(1, Math.floor(speed * OTHERS_SHARE)));
      await alongside(node, others, context.signal, () => measure(context, node, `beside ${others} others a second`));
    });
  },
};

interface Appended {
  readonly id: string;
  readonly content: string;
}

async function measure(context: BenchContext, node: NodeProcess, name: string): Promise<void> {
  const byWords: number[] = [];
  const byVector: number[] = [];
  let atOnce = 0;
  context.begin();
  for (let n = 0; n < TIMES; n += 1) {
    const message = await append(node, name.replaceAll(" ", ""), n);
    const began = performance.now();
    if ((await foundBy(node, "fts", message, context.signal)) === 1) atOnce += 1;
    byWords.push(performance.now() - began);
    await foundBy(node, "vector", message, context.signal);
    byVector.push(performance.now() - began);
  }
  context.together(() => {
    const all = { of: "value", atLeast: 1 } as const;
    context.value({ name: `found by the first search by words, ${name}`, unit: "share", goal: all }, atOnce / TIMES);
    context.samples({ name: `append to found by words, ${name}`, unit: "ms" }, byWords);
    const goal = { of: "p95", atMost: 2_000 } as const;
    context.samples({ name: `append to found by vector, ${name}`, unit: "ms", goal }, byVector);
  });
}

/** Texts a second. */
async function speedOf(context: BenchContext, baseUrl: string): Promise<number> {
  const service = createOpenaiCompatibleEmbedding({ model: MODEL, baseUrl });
  const began = performance.now();
  try {
    for (let n = 0; n < SPEED_TEXTS; n += 1) await service.embed([messageText(n)], { signal: context.signal });
    return SPEED_TEXTS / ((performance.now() - began) / 1_000);
  } finally {
    await service.close();
  }
}

/** Appends so many a second while the work goes on. */
async function alongside(
  node: NodeProcess,
  perSecond: number,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const done = new AbortController();
  const others = (async () => {
    const began = performance.now();
    for (let n = 0; !done.signal.aborted; n += 1) {
      const due = began + (n * 1_000) / perSecond;
      await sleep(Math.max(0, due - performance.now()), undefined, { signal });
      await append(node, "others", n);
    }
  })();
  try {
    await Promise.race([work(), others]);
  } finally {
    done.abort();
    await others;
  }
}

async function append(node: NodeProcess, session: string, n: number): Promise<Appended> {
  const content = `${messageText(n)} It was ${session} ${n}.`;
  const message = { session_key: `near:${session}`, role: "user", content };
  const { id } = await node.call<{ readonly id: string }>("/api/memory/tool/memory_append", message);
  return { id, content };
}

/** How many searches it took until one of them had the message. */
async function foundBy(
  node: NodeProcess,
  mode: "fts" | "vector",
  { id, content }: Appended,
  signal: AbortSignal,
): Promise<number> {
  const deadline = performance.now() + GIVE_UP_MS;
  for (let times = 1; ; times += 1) {
    const args = { query: content, mode, limit: 10, scope: "messages", expand: false };
    const found = await search(node, args);
    if (found.includes(id)) return times;
    if (performance.now() > deadline) throw new Error(`not found by ${mode} within ${GIVE_UP_MS} ms: ${content}`);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Nothing is found by vectors before there are any: that is refused, and waits like nothing. */
async function search(node: NodeProcess, args: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  try {
    const { results } = await node.call<{ readonly results: readonly { readonly id: string }[] }>(
      "/api/memory/tool/memory_search",
      args,
    );
    return results.map(({ id }) => id);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MEMORY_INVALID_ARGUMENT") return [];
    throw error;
  }
}
