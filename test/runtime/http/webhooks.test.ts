/** Requests of chat platforms: without a token of ours, to the channel that they name, and with what it answers. */

import { expect, it } from "vitest";
import { listening, startServer } from "../../support/http-server.ts";

it("hands a request to its channel, and answers as that says", async () => {
  const started = startServer();
  const { app } = started;
  const base = await listening(started);
  const seen: unknown[] = [];
  for (const status of [200, 503] as const) {
    app.webhook = async (request) => {
      seen.push([request.headers["x-telegram-bot-api-secret-token"], request.body]);
      return { status };
    };
    const answer = await fetch(`${base}/api/channels/telegram/webhook`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-telegram-bot-api-secret-token": "s" },
      body: JSON.stringify({ update_id: status }),
    });
    expect(answer.status).toBe(status);
  }
  expect(seen).toEqual([200, 503].map((id) => ["s", { update_id: id }]));
});

it("takes no request for a channel that has no webhook, and none that is too large or no JSON", async () => {
  const started = startServer();
  const { app } = started;
  const base = await listening(started);
  let calls = 0;
  app.webhook = async () => {
    calls++;
    return { status: 200 };
  };
  const post = async (channel: string, body: string, secret = "s") => {
    const headers = { "content-type": "application/json", "x-telegram-bot-api-secret-token": secret };
    return (await fetch(`${base}/api/channels/${channel}/webhook`, { method: "POST", headers, body })).status;
  };
  expect(await post("discord", "{}")).toBe(404);
  expect(await post("telegram", "no json")).toBe(400);
  expect(await post("telegram", JSON.stringify("x".repeat(300 * 1024)))).toBe(413);
  // Nothing is read of who has no secret.
  expect(await post("telegram", "no json", "wrong")).toBe(401);
  expect(await post("telegram", JSON.stringify("x".repeat(300 * 1024)), "wrong")).toBe(401);
  expect(calls).toBe(0);
});
