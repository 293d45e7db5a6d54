import { describe, expect, test } from "vitest";
import { startServer } from "../../support/http-server.ts";

describe("the root", () => {
  test("tells a browser what stands there, without a token", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/", headers: { accept: "text/html,*/*" } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(answer.body).toContain("<p>This is a Cairn node.");
    expect(answer.body).toContain("<code>/v1</code>");
  });

  test("tells other programs the same as text", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/" });
    expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(answer.body).toMatch(/^This is a Cairn node\./);
    expect(answer.body).not.toContain("<");
  });
});

describe("a path of OpenAI's clients without /v1", () => {
  test.each(["/chat/completions", "/models"])("%s is 404 and says where the base URL ends", async (url) => {
    const { server } = startServer();
    const answer = await server.inject({ method: url === "/models" ? "GET" : "POST", url });
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.hint).toContain("ends in /v1");
  });

  test("is told so nowhere else", async () => {
    const { server } = startServer();
    expect((await server.inject({ url: "/nowhere" })).json().error).not.toHaveProperty("hint");
  });
});
