/** What a person does on a fresh machine: one command, a talk over HTTP and on the terminal, a crash, and the talk goes on. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { NO_MODEL_SERVERS } from "../support/no-model-servers.js";

interface NodeFile {
  readonly pid: number;
  readonly boot: string;
  readonly url: string;
}

describe("npm start on a machine without a configuration", () => {
  let home: string;
  let npm: ChildProcess;
  let node: NodeFile;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "cairn-first-run-"));
    npm = start(home);
    node = await ready(home);
  });

  afterAll(async () => {
    if (npm.exitCode === null && npm.signalCode === null) {
      npm.kill("SIGTERM");
      await once(npm, "exit");
    }
    await rm(home, { recursive: true, force: true });
  });

  it("writes a configuration and keeps its secrets to its owner", async () => {
    expect(await readFile(join(home, ".cairn", "cairn.yaml"), "utf8")).toContain("main");
    expect((await stat(join(home, ".cairn", ".env"))).mode & 0o777).toBe(0o600);
  });

  it("answers nobody without the token", async () => {
    const response = await fetch(`${node.url}/health`);
    expect(response.status).toBe(401);
  });

  it("remembers over HTTP and on the terminal, through kill -9", async () => {
    await say(node, home, "first", "The harbour master is called Ottilie.");

    process.kill(node.pid, "SIGKILL");
    await once(npm, "exit");
    npm = start(home);
    node = await ready(home, node.boot);

    expect(await say(node, home, "second", "Who is the harbour master?")).toContain("Ottilie");
    expect(await chat(home, "Who is the harbour master?")).toContain("Ottilie");
  });

  it("drains and ends everything when npm is told to stop", async () => {
    npm.kill("SIGTERM");
    await once(npm, "exit");
    await expect(fetch(`${node.url}/health/live`)).rejects.toThrow();
    expect(() => process.kill(node.pid, 0)).toThrow();
  });
});

/** Nothing of this machine but the way to its programs; no language model is in reach. */
function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    SERVICE_LISTEN: "127.0.0.1:0",
    ...NO_MODEL_SERVERS,
  };
}

function start(home: string): ChildProcess {
  return spawn("npm", ["start"], { cwd: ROOT, env: environment(home), stdio: "ignore" });
}

/** Waits for a node that is ready and is not the one of `formerBoot`. */
async function ready(home: string, formerBoot?: string): Promise<NodeFile> {
  const file = join(home, ".cairn", "run", "node.json");
  const deadline = Date.now() + EVENTUALLY_MS;
  while (Date.now() < deadline) {
    const node: NodeFile | undefined = await readFile(file, "utf8").then(JSON.parse, () => undefined);
    if (node !== undefined && node.boot !== formerBoot) {
      const response = await fetch(`${node.url}/health/ready`).catch(() => undefined);
      if (response?.status === 200) return node;
    }
    await sleep(100);
  }
  throw new Error(`No node was ready after ${EVENTUALLY_MS / 1000} s`);
}

async function say(node: NodeFile, home: string, session: string, text: string): Promise<string> {
  const secrets = await readFile(join(home, ".cairn", ".env"), "utf8");
  const token = /^SERVICE_API_TOKEN=["']?([^"'\n]+)/m.exec(secrets)?.[1] ?? "";
  const response = await fetch(`${node.url}/api/agents/main/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ session, text }),
  });
  const body = await response.json();
  expect(body).toMatchObject({ ok: true, result: { text: expect.any(String) } });
  // The shape has just been checked.
  return (body as { result: { text: string } }).result.text;
}

async function chat(home: string, message: string): Promise<string> {
  const args = ["run", "-s", "cairn", "--", "chat", message];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: ROOT, env: environment(home) });
  return stdout;
}
