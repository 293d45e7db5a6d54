/** Commands that talk to a node reach the one that this directory has deployed, and say that it is one. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openConnection, withNode } from "../../control/service/connect.ts";
import { readNodeStatus } from "../../control/service/node-status.ts";
import { resolveDirectories } from "../../runtime/config/index.ts";
import { TOKEN, writeProject } from "../support/infra-project.ts";

let base: string;
let server: Server;
let url: string;
const asked: { readonly path: string; readonly token: string | undefined }[] = [];
const signal = new AbortController().signal;

const deployment = () =>
  resolveDirectories({
    flags: { dir: join(base, "deployment") },
    env: { SERVICE_HOME: join(base, "home") },
    cwd: base,
  });

/** What `infra up` leaves behind. */
function deployed(nodes: readonly string[]): void {
  const record = {
    schema: 1,
    stack: "lab",
    target: "docker",
    backend: "file:///x",
    deployed_at: "2030-01-31T12:00:00.000Z",
    version: "0.1.0",
    nodes: nodes.map((name) => ({ name, workload: `lab-${name}`, place: "local", image: "i", url })),
    data: [],
  };
  writeFileSync(join(base, "deployment/infra/stack.json"), JSON.stringify(record));
}

beforeEach(async () => {
  asked.length = 0;
  base = mkdtempSync(join(tmpdir(), "cairn-deployed-"));
  server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", token: request.headers.authorization });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ok: true, result: { status: "healthy", version: "0.1.0", agents: {} } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  writeProject(join(base, "deployment"), { stack: "lab", nodes: ["one"], postgres: false, port });
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(base, { recursive: true, force: true });
});

describe("a deployed stack", () => {
  it("is what `status` is about, and is called that", async () => {
    deployed(["one"]);
    expect(await readNodeStatus(deployment(), signal)).toMatchObject({
      running: true,
      url,
      pid: null,
      health: { status: "healthy" },
      deployed: { stack: "lab", target: "docker", node: "one", place: "local", nodes: ["one"] },
    });
    expect(asked[0]).toMatchObject({ token: `Bearer ${TOKEN}` });
  });

  it("does not run when its node does not answer, and says why", async () => {
    deployed(["one"]);
    await new Promise((resolve) => server.close(resolve));
    expect(await readNodeStatus(deployment(), signal)).toMatchObject({
      running: false,
      health: null,
      error: { code: expect.any(String) },
      deployed: { stack: "lab" },
    });
    server = createServer().listen(0);
  });

  it("is what commands work with, and no node is started for them here", async () => {
    deployed(["one"]);
    const seen = await withNode(deployment(), signal, async (client, { shortLived }) => {
      await client.health({ signal });
      return shortLived;
    });
    expect(seen).toBe(false);
    const { client, close } = await openConnection(deployment(), signal);
    await client.health({ signal });
    await close();
    expect(asked).toHaveLength(2);
  });

  it("is none any more after `destroy`, nor where the file cannot be read", async () => {
    deployed([]);
    expect(await readNodeStatus(deployment(), signal)).toMatchObject({
      running: false,
      state: "stopped",
      deployed: null,
    });
    writeFileSync(join(base, "deployment/infra/stack.json"), "{");
    expect(await readNodeStatus(deployment(), signal)).toMatchObject({ deployed: null });
    expect(asked).toEqual([]);
  });
});
