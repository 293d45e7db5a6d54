/** No synchronous I/O while turns are served: Node itself watches the built service, and says where it happens. */

import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
/** With the id of the process: what starts a command is one of its own. */
const WARNING = /\(node:(\d+)\) WARNING: Detected use of sync API/;

/**
 * By the environment, which threads of searches do not have: they read synchronously, and load their modules for each search, while the
 * thread that serves turns goes on. There nothing may do either.
 */
const WATCHED = { NODE_OPTIONS: "--trace-sync-io" };

/** Node warns of it, and it is none: random bytes come from memory. */
const RANDOM_BYTES = /^\s+at \w+ \(node:internal\/crypto\/random/;

/** Stacks of the other synchronous calls of the process. */
function synchronous(pid: number, output: string): readonly string[] {
  const [, ...parts] = output.split(WARNING);
  const stacks = parts.flatMap((part, index) => {
    if (index % 2 === 0 || Number(parts[index - 1]) !== pid) return [];
    return /^(?:\s+at .*)+/.exec(part) ?? [part];
  });
  return stacks.filter((stack) => !RANDOM_BYTES.test(stack));
}

/** Each call, and a part of its result. */
const CALLS: readonly (readonly [name: string, args: object, result: string])[] = [
  ["memory_search", { query: "hello" }, "hello"],
  ["file_write", { path: "notes/one.txt", content: "one pebble\ntwo pebbles\n" }, "notes/one.txt"],
  ["file_read", { path: "notes/one.txt" }, "one pebble"],
  ["file_edit", { path: "notes/one.txt", old_string: "two", new_string: "2" }, "notes/one.txt"],
  ["search_glob", { pattern: "notes/*.txt" }, "notes/one.txt"],
  ["search_grep", { pattern: "2 pebbles" }, "2 pebbles"],
  ["todo", { items: [{ text: "count pebbles", state: "pending" }] }, "1"],
  ["shell", { command: "cat notes/one.txt" }, "2 pebbles"],
  ["memory_stats", {}, "messages"],
];
const STEPS = CALLS.map(([name, args]) => `@call ${name} ${JSON.stringify(args)}\n@then`);
const WORDS = ["hello", `${STEPS.join("\n")}\n@say done`];

it("turns of the agent channel and of a chat, with tools and memory, do no synchronous I/O", async () => {
  const model = await startOpenAiFake();
  onTestFinished(() => model.close());
  const telegram = await startTelegramFake();
  const bot = telegram.bot();
  const deployment = await deploymentOf({
    env: { BOT_TOKEN: bot.token },
    config: {
      providers: { fake: { kind: "openai-compatible", base_url: model.baseUrl, api_key: "key", model: "m" } },
      agents: { main: { provider: "fake" } },
      memory: { postgres: { connection_string: await databaseUrl() } },
      channels: { telegram: { token: "${BOT_TOKEN}", owner_id: 1, base_url: telegram.url } },
    },
  });
  const node = await runningNode(deployment, { env: WATCHED });
  await receiverOf([node], "telegram");
  const turns = async (): Promise<void> => {
    for (const text of WORDS) {
      await node.call("/api/agents/main/messages", { session: "s", text });
      const before = bot.state.sent.length;
      bot.say(text);
      await expect.poll(() => bot.state.sent.length, EVENTUALLY).toBeGreaterThan(before);
    }
  };
  // What is loaded with its first use is read then.
  await turns();
  // The start reads its files so: the watching works.
  const before = node.output();
  expect(synchronous(node.pid, before)).not.toEqual([]);
  for (let round = 0; round < 5; round++) await turns();
  expect(synchronous(node.pid, node.output().slice(before.length))).toEqual([]);
  // And each call has done its work.
  const { results } = model.requests.findLast(({ step }) => step === CALLS.length) ?? { results: [] };
  // Results of the turns before stand in front of them.
  expect(results.slice(-CALLS.length).map(({ text }) => text)).toEqual(
    CALLS.map(([, , result]) => expect.stringContaining(result)),
  );
});
