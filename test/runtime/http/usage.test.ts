import { describe, expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

describe("the usage of models over HTTP", () => {
  test("is told for the days and by what was asked for", async () => {
    const { server } = startServer();
    const url = "/api/usage?from=2026-02-01&to=2026-02-28&by=model";
    const { result } = (await server.inject({ url, headers: OWNER })).json();
    expect(result).toMatchObject({ from: "2026-02-01", to: "2026-02-28", by: "model" });
    const counts = {
      calls: 3,
      input_tokens: 30,
      cached_input_tokens: 4,
      cache_write_input_tokens: 2,
      output_tokens: 15,
      cost_usd: null,
      unpriced_calls: 3,
    };
    expect(result.rows).toEqual([{ key: "2026-01-05", ...counts }]);
    expect(result.total).toEqual(counts);
  });

  test("is told by day where nothing was asked for", async () => {
    const { server } = startServer();
    expect((await server.inject({ url: "/api/usage", headers: OWNER })).json().result).toMatchObject({ by: "day" });
  });

  test.each(["by=week", "from=yesterday", "to=2026-02-30", "from=0000-01-01", "days=3"])(
    "refuses %s",
    async (query) => {
      const { server } = startServer();
      expect((await server.inject({ url: `/api/usage?${query}`, headers: OWNER })).statusCode).toBe(400);
    },
  );

  test("is for the scope `admin` alone", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => principal("hook", ["capture", "memory", "agent"]);
    const answer = await server.inject({ url: "/api/usage", headers: { authorization: "Bearer hook" } });
    expect(answer.statusCode).toBe(403);
  });
});
