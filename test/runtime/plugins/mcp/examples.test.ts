/** The example servers of the protocol's own SDK, over both transports. */

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startMcpServers } from "../../../support/mcp-servers.ts";
import { freePort } from "../../../support/ports.ts";

const SDK = dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/sdk/server/index.js"));
const example = (name: string) => join(SDK, "..", "..", "esm", "examples", "server", `${name}.js`);

it("are used over standard streams", async () => {
  const args = [example("mcpServerOutputSchema")];
  const mcp = await startMcpServers({
    weather: { target: { kind: "stdio", command: process.execPath, args, env: {}, cwd: tmpdir() } },
  });
  await mcp.up("weather");
  const { content } = await mcp.call("weather__get_weather", { city: "Paris", country: "FR" });
  expect(content).toMatch(/<mcp_result mark="m-1">\n[\s\S]*"temperature"[\s\S]*\n<\/mcp_result mark="m-1">$/);
});

it("are used over HTTP, with what comes while a call runs; tools for tasks alone are left out", async () => {
  const port = await freePort();
  const server = spawn(process.execPath, [example("simpleStreamableHttp")], {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], MCP_PORT: String(port) },
  });
  onTestFinished(() => void server.kill());
  const target = { kind: "http", url: `http://127.0.0.1:${port}/mcp`, headers: {} } as const;
  const mcp = await startMcpServers({ simple: { target } });
  await mcp.up("simple");
  expect((await mcp.call("simple__greet", { name: "Ada" })).content).toContain("Hello, Ada!");
  expect((await mcp.call("simple__start-notification-stream", { interval: 10, count: 3 })).content).toContain("10ms");
  expect((await mcp.call("simple__list-files")).content).toContain("[link to the resource file:///example/file1.txt");
  const leftOut = mcp.servers.report()["simple"]?.left_out.map(({ name }) => name);
  expect(leftOut).toEqual(["collect-user-info-task", "delay"]);
});
