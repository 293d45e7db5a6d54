import { expect, it } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const approve = (id: string, digest = "d1") => ({
  method: "POST" as const,
  url: `/api/admin/mcp-servers/${id}/approve`,
  payload: { digest },
});

it("approves the tools of an MCP server, and writes that down", async () => {
  const { server, security } = startServer();
  const response = await server.inject({ ...approve("files"), headers: OWNER });
  expect(response.json()).toEqual({ ok: true, result: { server: "files", approved: 2 } });
  expect(security.slice(1)).toMatchObject([
    { event: "mcp.approved", outcome: "done", details: { server: "files", approved: 2 } },
  ]);
});

it("shows what has changed, and refuses to approve anything else", async () => {
  const { server } = startServer();
  const changes = await server.inject({ url: "/api/admin/mcp-servers/files/changes", headers: OWNER });
  expect(changes.json().result).toEqual({
    server: "files",
    digest: "d1",
    tools: [{ name: "echo", description: "Says it.", parameters: { type: "object" } }],
  });
  expect((await server.inject({ ...approve("files", "d0"), headers: OWNER })).statusCode).toBe(409);
  expect((await server.inject({ ...approve("files"), payload: {}, headers: OWNER })).statusCode).toBe(400);
  expect((await server.inject({ url: "/api/admin/mcp-servers/files/changes" })).statusCode).toBe(401);
});

it("refuses others, and knows no server that is not there", async () => {
  const { app, server } = startServer();
  expect((await server.inject(approve("files"))).statusCode).toBe(401);
  expect((await server.inject({ ...approve("none"), headers: OWNER })).json()).toMatchObject({
    error: { code: "RUNTIME_NOT_FOUND" },
  });
  app.authenticate = async () => principal("hook", ["capture", "memory", "agent"]);
  const headers = { authorization: "Bearer hook" };
  expect((await server.inject({ ...approve("files"), headers })).statusCode).toBe(403);
});
