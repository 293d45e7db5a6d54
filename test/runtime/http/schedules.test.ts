import { expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

test("schedules are listed, run, paused and resumed", async () => {
  const { server } = startServer();
  const listed = await server.inject({ url: "/api/admin/schedules", headers: OWNER });
  expect(listed.json().result.schedules).toMatchObject([{ agent: "main", name: "morning", state: "active" }]);
  const post = async (action: string) =>
    (
      await server.inject({ method: "POST", url: `/api/admin/schedules/main/morning/${action}`, headers: OWNER })
    ).json();
  expect(await post("run")).toEqual({
    ok: true,
    result: { agent: "main", name: "morning", turn_id: "t-1", started: true },
  });
  expect((await post("pause")).result).toMatchObject({ state: "paused", next_at: null });
  expect((await post("resume")).result).toMatchObject({ state: "active" });
});

test.each(["run", "pause", "resume"])("%s of a schedule that is none is 404", async (action) => {
  const { server } = startServer();
  const url = `/api/admin/schedules/main/noon/${action}`;
  expect((await server.inject({ method: "POST", url, headers: OWNER })).statusCode).toBe(404);
});

test("schedules are for the scope `admin` alone", async () => {
  const { app, server } = startServer();
  app.authenticate = async () => principal("hook", ["capture", "memory", "agent"]);
  const headers = { authorization: "Bearer hook" };
  expect((await server.inject({ url: "/api/admin/schedules", headers })).statusCode).toBe(403);
  const url = "/api/admin/schedules/main/morning/run";
  expect((await server.inject({ method: "POST", url, headers })).statusCode).toBe(403);
});
