import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { certificatePin } from "../../runtime/contracts/certificates.ts";
import { temporaryDirectory } from "../support/deployment.ts";

const PROBE = new URL("../../runtime/health-probe.ts", import.meta.url).pathname;
const TLS = new URL("../fixtures/tls/", import.meta.url);

/** A home whose node answers so; ends with the test. */
async function homeOf(answer: RequestListener, tls = false, pin?: string): Promise<string> {
  const [cert, key] = await Promise.all(["cert", "key"].map((name) => readFile(new URL(`localhost-${name}.pem`, TLS))));
  const server = tls && cert && key ? createTlsServer({ cert, key }, answer) : createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const url = `${tls ? "https" : "http"}://127.0.0.1:${address.port}`;
  return homeWith(JSON.stringify({ url, certificate_sha256: pin ?? (tls && cert ? certificatePin(cert) : null) }));
}

async function homeWith(node: string | null): Promise<string> {
  const home = await temporaryDirectory();
  await mkdir(join(home, "run"));
  if (node !== null) await writeFile(join(home, "run", "node.json"), node);
  return home;
}

async function probe(
  home: string,
  ...args: string[]
): Promise<{ readonly code: number | undefined; readonly words: string }> {
  const { exitCode, stderr } = await execa(process.execPath, [PROBE, ...args], {
    env: { SERVICE_HOME: home },
    extendEnv: false,
    reject: false,
  });
  return { code: exitCode, words: stderr };
}

describe("the health probe", () => {
  test("is not content with another certificate than the node's", async () => {
    const home = await homeOf((_, response) => response.end(), true, "00:11");
    expect(await probe(home)).toEqual({ code: 1, words: expect.stringContaining("another certificate") });
  });

  test.each([false, true])("is content with a node that is ready (TLS: %s)", async (tls) => {
    const paths: (string | undefined)[] = [];
    const home = await homeOf((request, response) => {
      paths.push(request.url);
      response.end("{}");
    }, tls);
    expect(await probe(home)).toEqual({ code: 0, words: "" });
    expect(paths).toEqual(["/health/ready"]);
  });

  test("is not with one that drains, has no address yet, or is gone", async () => {
    const draining = await homeOf((_request, response) => response.writeHead(503).end());
    expect(await probe(draining)).toEqual({ code: 1, words: "not ready: /health/ready answers 503" });
    expect(await probe(await homeWith(null))).toMatchObject({
      code: 1,
      words: expect.stringMatching(/^not ready: ENOENT/),
    });
    expect((await probe(await homeWith("{"))).code).toBe(1);
    expect((await probe(await homeWith('{"url":7}'))).code).toBe(1);
    expect((await probe(await homeWith('{"url":"http://127.0.0.1:1"}'))).words).toMatch(/ECONNREFUSED/);
  });

  test("does not wait for ever for one that hangs", async () => {
    const { code, words } = await probe(await homeOf(() => undefined), "200");
    expect(code).toBe(1);
    expect(words).toMatch(/^not ready: .*(?:abort|timeout)/i);
  });
});
