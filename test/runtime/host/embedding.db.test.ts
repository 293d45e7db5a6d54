/** A node whose configuration names an encoder finds by meaning what it was told, and says how far it is. */

import { join } from "node:path";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../runtime/config/index.ts";
import { startHost } from "../../../runtime/host.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { bareEnvironment, deploymentDirectory, MINIMAL } from "../../support/deployment.ts";
import { fakeEncoder } from "../app/embedding/support.ts";

const TOKEN = "cairn_test_0123456789abcdefghijklmnopqrstuvwxyz";

it("embeds what it is told, and finds it by other words", async () => {
  const fake = await fakeEncoder();
  const embedding = `{ provider: ollama, base_url: "${fake.url}/v1", model: words, interval: 200ms }`;
  const dir = await deploymentDirectory({
    yaml: `${MINIMAL}memory: { embedding: ${embedding} }\n`,
    env: `SERVICE_API_TOKEN='${TOKEN}'\n`,
  });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const env = bareEnvironment({ SERVICE_LISTEN: "127.0.0.1:0" });
  const loaded = await loadConfig({ dir, home: join(dir, "home"), env });
  const host = await startHost({
    loaded,
    version: "0.0.0",
    boot: "test",
    log: { logger: pino({ level: "silent" }), close: async () => undefined },
    redact: (text) => text,
    redactValues: (text) => text,
    hide: () => undefined,
    maintenance: false,
  });
  onTestFinished(() => host.stop());
  await host.ready;
  const call = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const response = await fetch(`${host.url}${path}`, {
      method: body ? "POST" : "GET",
      headers,
      body: body ? JSON.stringify(body) : null,
    });
    return response.text();
  };
  const tool = async (name: string, args: object) => JSON.parse(await call(`/api/memory/tool/${name}`, args)).result;
  await call("/api/agents/main/messages", { session: "s", text: "My physician purchased an automobile." });
  await expect.poll(async () => (await tool("memory_stats", {})).messages.total).toBeGreaterThan(0);
  await expect.poll(async () => (await tool("memory_stats", {})).embedding_queue_depth).toBe(0);
  await expect.poll(async () => (await tool("memory_stats", {})).messages.coverage).toBe(1);
  // A query does not wait for its vector as long as a busy machine may take to make it.
  await expect
    .poll(async () => (await tool("memory_search", { query: "doctor bought car", mode: "vector" })).results[0]?.content)
    .toContain("physician purchased");
  expect(await call("/metrics")).toContain('cairn_embedding_rows{model="words",state="given_up"} 0');
});
