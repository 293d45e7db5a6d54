/** A node whose configuration names an encoder finds by meaning what it was told, and says how far it is. */

import { join } from "node:path";
import { expect, it } from "vitest";
import type { FakeEncoder } from "../../fakes/embeddings/index.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory, MINIMAL } from "../../support/deployment.ts";
import { OWNER_ENV, OWNER_TOKEN, startedHost } from "../../support/started-host.ts";
import { fakeEncoder } from "../app/embedding/support.ts";

/** A node that embeds with the encoder, and what its routes answer as text. */
async function nodeWith(fake: FakeEncoder, env = "") {
  const embedding = `{ provider: ollama, base_url: "${fake.url}/v1", model: words, interval: 200ms }`;
  const yaml = `${MINIMAL}memory: { embedding: ${embedding} }\n`;
  const dir = await deploymentDirectory({ yaml, env: `${OWNER_ENV}${env}` });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const { request } = await startedHost({ dir });
  const call = async (path: string, body?: object) => (await request(path, body)).text();
  const tool = async (name: string, args: object) => JSON.parse(await call(`/api/memory/tool/${name}`, args)).result;
  return { call, tool };
}

it("embeds a message, and finds it by other words", async () => {
  const { call, tool } = await nodeWith(await fakeEncoder());
  await call("/api/agents/main/messages", { session: "s", text: "My physician purchased an automobile." });
  await expect.poll(async () => (await tool("memory_stats", {})).messages.total).toBeGreaterThan(0);
  await expect.poll(async () => (await tool("memory_stats", {})).embedding_queue_depth).toBe(0);
  await expect.poll(async () => (await tool("memory_stats", {})).messages.coverage).toBe(1);
  expect(await tool("memory_stats", {})).toMatchObject({ embedding_model: "words" });
  // A query does not wait for its vector as long as a busy machine may take to make it.
  await expect
    .poll(async () => (await tool("memory_search", { query: "doctor bought car", mode: "vector" })).results[0]?.content)
    .toContain("physician purchased");
  expect(await call("/metrics")).toContain('cairn_embedding_rows{model="words",state="given_up"} 0');
});

it("says that a search went by words alone while the encoder does not answer", async () => {
  const fake = await fakeEncoder();
  const { call, tool } = await nodeWith(fake);
  await call("/api/agents/main/messages", { session: "s", text: "My physician purchased an automobile." });
  await expect.poll(async () => (await tool("memory_stats", {})).messages.coverage).toBe(1);
  await expect.poll(async () => (await tool("memory_search", { query: "doctor bought car" })).notice).toBeUndefined();
  fake.setFault(() => ({ kind: "status", status: 503 }));
  const found = await tool("memory_search", { query: "doctor purchased car" });
  expect(found.notice).toMatch(/^Searched by words alone: the embedding model words does not answer/);
  expect((await tool("memory_search", { query: "doctor", mode: "fts" })).notice).toBeUndefined();
});

it("sends the encoder no secret of the node, neither in a row nor in a query, also where a text is cut into parts", async () => {
  const fake = await fakeEncoder();
  const password = "correct-horse-battery";
  const { call, tool } = await nodeWith(fake, `SERVICE_DB_PASSWORD='${password}'\n`);
  // Parts have a thousand bytes: the token begins in the first one and ends in the second.
  const text = `${"x".repeat(980)}${OWNER_TOKEN} then ${password}`;
  await call("/api/agents/main/messages", { session: "s", text });
  await expect.poll(async () => (await tool("memory_stats", {})).messages.total).toBeGreaterThan(0);
  await expect.poll(async () => (await tool("memory_stats", {})).messages.coverage).toBe(1);
  await tool("memory_search", { query: `where is ${OWNER_TOKEN} used`, mode: "vector" });
  const queries = () => fake.encoded.filter((sent) => sent.startsWith("where is"));
  await expect.poll(() => queries().length).toBe(1);
  expect(queries()).toEqual(["where is [redacted] used"]);
  const sent = fake.requests.flatMap(({ texts }) => texts).join("");
  expect(sent.replaceAll(/\s/g, "")).toContain("x[redacted]then[redacted]");
  for (const secret of [OWNER_TOKEN, OWNER_TOKEN.slice(0, 18), OWNER_TOKEN.slice(-18), password])
    expect(sent).not.toContain(secret);
});
