/** A node of the built program with plugins: it gives them its own `cairn-agents/plugin`, logs no secret of theirs, and is seen by commands. */

import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { cairn } from "../support/commands.ts";
import { eventually } from "../support/eventually.ts";
import { createDeployment, startNode } from "../support/node-process.ts";
import { writePlugins } from "../support/plugin-folders.ts";

const SKY = `import { ToolError } from "cairn-agents/plugin";
export const create = ({ settings, logger }) => ({
  name: "sky",
  description: "Looks at the sky.",
  parameters: { type: "object" },
  async execute() {
    logger.info({ pass: settings.phrase }, "asked with " + settings.phrase);
    throw new ToolError("TOOL_UNAVAILABLE", "The sky is not reached.");
  },
});`;

it("runs a tool whose error the model reads, and lists it beside one that ends its process", async () => {
  const results: string[] = [];
  const fake = await startOpenAiFake({
    script: ({ step, results: called }) => {
      results.push(...called.map(({ text }) => text));
      return step > 0 ? { text: "Done." } : { toolCalls: [{ id: "c1", name: "sky", arguments: {} }] };
    },
  });
  onTestFinished(() => fake.close());
  const model = { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "${KEY}" };
  const deployment = await createDeployment({
    config: {
      agents: { main: { provider: "model" } },
      providers: { model },
      plugin_dirs: ["plugins"],
      plugins: { sky: { settings: { phrase: "${PHRASE}" } } },
    },
    env: { KEY: "none-of-yours-0123", PHRASE: "seven blue herons" },
  });
  onTestFinished(() => deployment.remove());
  const phrase = { type: "string", writeOnly: true };
  await writePlugins(join(deployment.dir, "plugins"), {
    ends: { kind: "hook", code: "process.exit(7)" },
    sky: { kind: "tool", code: SKY, settings: { type: "object", properties: { phrase } } },
  });
  const node = await startNode(deployment);
  onTestFinished(async () => {
    node.signal("SIGTERM");
    await node.exited;
  });
  await node.call("/api/agents/main/messages", { session: "s", text: "Is it blue?" });
  await eventually(() => expect(results).toEqual([expect.stringMatching(/TOOL_UNAVAILABLE: The sky is not reached/)]));
  await eventually(() => expect(node.output()).toContain("asked with [redacted]"));
  expect(node.output()).not.toContain("seven blue herons");
  const { plugins } = await cairn<{
    plugins: readonly { name: string; state: string | null; problem: string | null }[];
  }>(deployment, "plugins", "list");
  expect(
    plugins.filter(({ state }) => state !== null).map(({ name, state, problem }) => [name, state, problem]),
  ).toEqual([
    ["ends", "failed", "it ends its process with code 7"],
    ["sky", "loaded", null],
  ]);
});
