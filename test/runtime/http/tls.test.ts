import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get, type RequestOptions } from "node:https";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { listening, startServer } from "../../support/http-server.ts";

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/tls/localhost-${name}.pem`, import.meta.url));
const tls = { cert: fixture("cert"), key: fixture("key") };

async function ask(url: string, options: RequestOptions) {
  const [response] = (await once(get(url, options), "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

test("with a certificate the server speaks TLS, and says so in its URL", async () => {
  const url = await listening(startServer({ tls }));
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await ask(`${url}/health/live`, { ca: tls.cert })).toEqual({
    status: 200,
    body: { ok: true, result: { live: true } },
  });
  await expect(ask(`${url}/health/live`, {})).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});

test("plain HTTP and old TLS get nothing", async () => {
  const url = new URL(await listening(startServer({ tls })));
  await expect(fetch(`http://${url.host}/health/live`)).rejects.toThrow();
  const old = connect({
    host: url.hostname,
    port: Number(url.port),
    ca: tls.cert,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
  });
  await expect(once(old, "secureConnect")).rejects.toThrow();
});
