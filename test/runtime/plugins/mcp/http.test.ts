/** MCP servers over streamable HTTP: their sessions, their ends, and what is sent to whom. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { type McpHttpFake, startMcpHttpFake } from "../../../fakes/mcp/http.ts";
import type { McpFakeOptions } from "../../../fakes/mcp/server.ts";
import { eventually, until } from "../../../support/eventually.ts";
import { startMcpServers } from "../../../support/mcp-servers.ts";

async function started(options: McpFakeOptions = {}, headers: Record<string, string> = {}, timeoutMs = 600_000) {
  const fake = await startMcpHttpFake(options);
  onTestFinished(() => fake.close());
  const target = { kind: "http", url: fake.url, headers } as const;
  return { fake, mcp: await startMcpServers({ remote: { target, timeoutMs } }) };
}

/** Answers every request so, until the server is itself again. */
function instead(fake: McpHttpFake, answer: (request: IncomingMessage, response: ServerResponse) => void): () => void {
  fake.intercept = (request, response) => {
    answer(request, response);
    return true;
  };
  return () => {
    fake.intercept = () => false;
  };
}

it("offers the tools of a server, calls them, and sends the configured headers with each request", async () => {
  const { fake, mcp } = await started({}, { Authorization: "Bearer t" });
  await mcp.up("remote");
  expect((await mcp.call("remote__echo", { text: "hello" })).content).toContain('<mcp_result mark="m-1">\nhello\n');
  expect(mcp.servers.report()["remote"]).toMatchObject({ transport: "http", state: "up" });
  expect(new Set(fake.requests.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer t"]));
});

it("learns of tools that come and go by the stream of news", async () => {
  const { mcp } = await started();
  await mcp.up("remote");
  await mcp.call("remote__change", { extra: [{ name: "new", inputSchema: { type: "object" } }] });
  await until(() => mcp.names().includes("remote__new"));
  await mcp.call("remote__change", { extra: [] });
  await until(() => !mcp.names().includes("remote__new"));
});

it("ends a call at once with its turn, and the server learns of it", async () => {
  const { fake, mcp } = await started();
  await mcp.up("remote");
  const stop = new AbortController();
  const call = mcp.call("remote__hang", {}, stop.signal);
  setTimeout(() => stop.abort(), 100);
  await expect(call).rejects.toMatchObject({ code: "TOOL_ABORTED" });
  await until(() => fake.state.cancelled === 1);
});

it("ends its session when the node stops, and waits for no server that does not answer", async () => {
  const { fake, mcp } = await started();
  await mcp.up("remote");
  expect(fake.sessions()).toBe(1);
  await mcp.servers.stop();
  expect(fake.sessions()).toBe(0);

  const stalled = await started();
  await stalled.mcp.up("remote");
  stalled.fake.intercept = ({ method }) => method === "DELETE";
  await stalled.mcp.servers.stop();
  expect(stalled.fake.sessions()).toBe(1);
});

it("connects anew to a server that has forgotten its session", async () => {
  const { fake, mcp } = await started();
  await mcp.up("remote");
  fake.forget();
  await expect(mcp.call("remote__echo", { text: "x" })).rejects.toMatchObject({ code: "TOOL_OUTCOME_UNKNOWN" });
  await eventually(async () => {
    expect((await mcp.call("remote__echo", { text: "again" })).content).toContain("again");
  });
});

it("says why it is not connected, and connects when the server is back", async () => {
  const fake = await startMcpHttpFake();
  onTestFinished(() => fake.close());
  const back = instead(fake, (_, response) =>
    response.writeHead(401, { "www-authenticate": "Bearer" }).end("the token x is wrong"),
  );
  const mcp = await startMcpServers({ remote: { target: { kind: "http", url: fake.url, headers: {} } } });
  await eventually(() => {
    expect(mcp.servers.report()["remote"]).toMatchObject({
      state: "down",
      reason: "it wants another authorization (HTTP 401)",
    });
  });
  expect(mcp.log.join("\n")).not.toContain("the token x is wrong");
  back();
  await mcp.up("remote");
});

it("follows no redirect to another server, so that it gets no header", async () => {
  const other = await startMcpHttpFake();
  onTestFinished(() => other.close());
  const fake = await startMcpHttpFake();
  onTestFinished(() => fake.close());
  instead(fake, (_, response) => response.writeHead(307, { location: other.url }).end());
  const target = { kind: "http", url: fake.url, headers: { Authorization: "Bearer t" } } as const;
  const mcp = await startMcpServers({ remote: { target } });
  await eventually(() => {
    expect(mcp.servers.report()["remote"]?.reason).toMatch(/redirects to another server/);
  });
  expect(other.requests).toEqual([]);
});

it("disconnects a server that sends more than a message may hold, be it one answer or an event", async () => {
  const { fake, mcp } = await started();
  await mcp.up("remote");
  await expect(mcp.call("remote__big", { bytes: 10_000_000 })).rejects.toMatchObject({
    message: expect.stringContaining("more than 8 MiB"),
  });
  await until(() => mcp.servers.report()["remote"]?.state === "down");
  await mcp.up("remote");
  const back = instead(fake, (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    response.writeHead(200, { "content-type": "application/json" });
    const endless = setInterval(() => response.write("x".repeat(1_000_000)), 1);
    response.on("close", () => clearInterval(endless));
    return response;
  });
  await expect(mcp.call("remote__echo", { text: "x" })).rejects.toMatchObject({
    message: expect.stringContaining("more than 8 MiB"),
  });
  back();
  await until(() => mcp.servers.report()["remote"]?.state === "down");
  await mcp.up("remote");
});

it("does not open the stream of news again and again where a server ends it at once and asks for no pause", async () => {
  const opened: number[] = [];
  const { fake, mcp } = await started();
  fake.intercept = (request, response) => {
    if (request.method !== "GET") return false;
    opened.push(performance.now());
    response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 1\nid: 1\ndata: \n\n");
    return true;
  };
  await mcp.up("remote");
  await until(() => opened.length >= 3);
  const [first = 0, second = 0, third = 0] = opened;
  expect(Math.max(second - first, third - second)).toBeGreaterThan(500);
});

it("sees the end of a server in a call", async () => {
  const { fake, mcp } = await started();
  await mcp.up("remote");
  const call = mcp.call("remote__hang");
  setTimeout(() => void fake.close(), 100);
  await expect(call).rejects.toMatchObject({ code: "TOOL_OUTCOME_UNKNOWN" });
  await until(() => mcp.servers.report()["remote"]?.state === "down");
  expect(mcp.names()).toEqual([]);
});
