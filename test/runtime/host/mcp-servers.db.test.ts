/** A whole node with an MCP server: an agent's turn calls its tool, and the operator sees how it is. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "fakes", "mcp", "main.ts");

it("gives the owner's turns the tools of its servers, and says in /health and /metrics how these are", async () => {
  const offered: string[][] = [];
  const results: string[] = [];
  const fake = await startOpenAiFake({
    script: ({ step, results: called, toolNames }) => {
      offered.push([...toolNames]);
      results.push(...called.map(({ text }) => text));
      if (step > 0) return { text: "Done." };
      return { toolCalls: [{ id: "c1", name: "files__echo", arguments: { text: "hello", more: 1 } }] };
    },
  });
  onTestFinished(() => fake.close());
  const dir = await deploymentDirectory({
    yaml: `version: 1
agents: { main: { provider: model, tools: { exclude: [files__die] } } }
providers: { model: { kind: openai-compatible, base_url: "${fake.baseUrl}", model: fake, api_key: none-of-yours-0123 } }
mcp:
  servers:
    files: { command: "${process.execPath}", args: ["${PROGRAM}", "{}"] }
    none: { command: no-such-program }
    off: { enabled: false, command: no-such-program }
`,
    env: OWNER_ENV,
  });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const { request } = await startedHost({ dir });
  const mcp = await eventually(async () => {
    const { result } = JSON.parse(await (await request("/health")).text());
    expect(result.mcp.files.state).toBe("up");
    expect(result.mcp.none.state).toBe("down");
    return result;
  });
  expect(mcp.status).toBe("healthy");
  expect(mcp.mcp).toEqual({
    files: {
      transport: "stdio",
      state: "up",
      reason: null,
      tools: 13,
      changed: [],
      changed_digest: null,
      left_out: [],
    },
    none: expect.objectContaining({ state: "down", reason: "its program cannot be started (ENOENT)" }),
  });
  expect(await (await request("/metrics")).text()).toContain('cairn_mcp_server_up{server="files"} 1');

  expect((await request("/api/agents/main/messages", { session: "s", text: "hi" })).status).toBe(200);
  expect(offered[0]).toEqual(expect.arrayContaining(["file_read", "files__echo"]));
  expect(offered[0]).not.toContain("files__die");
  expect(results.join("\n")).toMatch(/<mcp_result mark="([0-9a-f-]{36})">\nhello\n<\/mcp_result mark="\1">/);
  // What it saw is remembered in the home, for its owner alone.
  expect(Object.keys(JSON.parse(await readFile(join(dir, "home", "mcp-tools.json"), "utf8")).servers)).toEqual([
    "files",
  ]);
  expect((await request("/api/admin/mcp-servers/none/approve", { digest: "" })).status).toBe(503);
  expect((await request("/api/admin/mcp-servers/off/approve", { digest: "" })).status).toBe(404);
});
