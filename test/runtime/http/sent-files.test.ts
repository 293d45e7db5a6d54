/** Files that turns have sent, as clients of the agent channel get them. */

import { expect, test } from "vitest";
import type { OpenedFile } from "../../../runtime/app/turn/sent-files.ts";
import { createClient } from "../../../runtime/client/index.ts";
import type { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { OWNER_TOKEN, principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer, type TestServer } from "../../support/http-server.ts";

const SHA = "ab".repeat(32);
const about = { sha256: SHA, name: 'Qua"rtal 一\r\n.html', media_type: "text/html", size: 22 };
const content = "<script>alert()</script>".slice(0, 22);
const url = (turn: string, sha256 = SHA) => `/api/agents/main/turns/${turn}/attachments/${sha256}`;

/** A turn has ended and has sent a file. */
async function sent({ app, server }: TestServer, headers: Record<string, string> = OWNER): Promise<unknown> {
  app.files.set(SHA, {
    ref: about,
    bytes: (async function* () {
      yield Buffer.from(content.slice(0, 5));
      yield Buffer.from(content.slice(5));
    })(),
  } satisfies OpenedFile);
  app.script = async () => ({ text: "Here.", attachments: [{ ...about, caption: "As asked." }] });
  const message = { method: "POST", url: "/api/agents/main/messages", headers } as const;
  return (await server.inject({ ...message, payload: { session: "s", text: "go" } })).json().result.attachments;
}

test("are in the result, and are fetched by their hash as nothing that a browser runs", async () => {
  const started = startServer();
  expect(await sent(started)).toEqual([{ ...about, caption: "As asked." }]);
  const answer = await started.server.inject({ url: url("turn-1"), headers: OWNER });
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toBe(content);
  expect(answer.headers).toMatchObject({
    "content-type": "text/html",
    "content-length": "22",
    "content-disposition": "attachment; filename*=UTF-8''Qua%22rtal%20%E4%B8%80%0D%0A.html",
    "x-content-type-options": "nosniff",
  });
});

test("are for those alone who may follow the turn", async () => {
  const started = startServer();
  const { app, server } = started;
  await sent(started);
  const get = async (headers: Record<string, string> = {}, path = url("turn-1")) =>
    (await server.inject({ url: path, headers })).statusCode;
  expect(await get()).toBe(401);
  expect(await get(OWNER, url("turn-1", "cd".repeat(32)))).toBe(404);
  expect(await get(OWNER, url("turn-9"))).toBe(404);
  app.authenticate = async () => principal("other", ["agent"]);
  expect(await get({ authorization: "Bearer another-token-that-is-long-enough" })).toBe(404);
  app.authenticate = async () => principal("reader", ["memory"]);
  expect(await get({ authorization: "Bearer another-token-that-is-long-enough" })).toBe(403);
});

test("come through the client as bytes, or with the node's error", async () => {
  const started = startServer();
  await sent(started);
  const client = createClient({ baseUrl: await listening(started), token: OWNER_TOKEN });
  expect(Buffer.from(await client.attachment("main", "turn-1", SHA)).toString()).toBe(content);
  await expect(client.attachment("main", "turn-1", "none")).rejects.toMatchObject({
    code: "RUNTIME_NOT_FOUND" satisfies RuntimeError["code"],
  });
});
