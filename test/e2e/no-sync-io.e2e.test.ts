/** No synchronous I/O while turns are served: Node itself watches the built service, and says where it happens. */

import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const WARNING = "WARNING: Detected use of sync API";

/** Node warns of it, and it is none: random bytes come from memory. */
const RANDOM_BYTES = /^\s+at \w+ \(node:internal\/crypto\/random/;

/** Stacks of the other synchronous calls. */
function synchronous(output: string): readonly string[] {
  const [, ...warnings] = output.split(WARNING);
  const stacks = warnings.map((warning) => /^(?:\s+at .*)+/.exec(warning)?.[0] ?? warning);
  return stacks.filter((stack) => !RANDOM_BYTES.test(stack));
}

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
  const node = await runningNode(deployment, { nodeOptions: ["--trace-sync-io"] });
  await receiverOf([node], "telegram");
  const words = [
    "hello",
    '@call memory_search {"query": "hello"}\n@then\n@say found',
    '@call write_file {"path": "note.txt", "content": "one"}\n@then\n@call read_file {"path": "note.txt"}\n@then\n@say read',
  ];
  const turns = async (): Promise<void> => {
    for (const text of words) {
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
  expect(synchronous(before)).not.toEqual([]);
  for (let round = 0; round < 5; round++) await turns();
  expect(synchronous(node.output().slice(before.length))).toEqual([]);
});
