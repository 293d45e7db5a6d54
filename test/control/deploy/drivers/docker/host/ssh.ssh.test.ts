/** The way to a Docker host over a real sshd: keys checked, words quoted, tunnels that end. */

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createDockerDriver } from "../../../../../../control/deploy/drivers/docker/driver.ts";
import { whileReachable } from "../../../../../../control/deploy/drivers/docker/host/reachable.ts";
import { openTunnel, runRemote } from "../../../../../../control/deploy/drivers/docker/host/ssh.ts";
import type { SshAddress } from "../../../../../../infra/components/docker/address.ts";
import { lacks } from "../../../../../lanes/tools.ts";
import { dockerPlan, nodePlan } from "../../../../../support/docker-target.ts";
import { createFakeTools, type FakeTools } from "../../../../../support/fake-tools.ts";
import { startForeignListener } from "../../../../../support/foreign-listener.ts";
import { closedPort } from "../../../../../support/ports.ts";
import { type SshServer, startSshd } from "../../../../../support/ssh/sshd.ts";
import { startStalledProxy } from "../../../../../support/ssh/stalled-proxy.ts";

const signal = new AbortController().signal;
let server: SshServer;
let tools: FakeTools;
let address: SshAddress;

beforeAll(async () => {
  server = await startSshd({ environment: { PATH: process.env.PATH ?? "" } });
  const { host, port, user } = server;
  address = { url: `ssh://${user}@${host}:${port}`, user, host, port };
  // The user's own configuration and keys are none of the test's business: ssh gets ours, whoever starts it.
  tools = await createFakeTools();
  await tools.add("ssh", `PATH=\${PATH#*:} exec ssh -F ${join(tools.directory, "config")} "$@"`);
});

afterAll(async () => {
  await tools?.remove();
  await server?.stop();
});

beforeEach(async () => {
  vi.stubEnv("PATH", `${tools.directory}${delimiter}${process.env.PATH}`);
  await knows(server.hostKey);
});

/** What the machine knows of the host's key; null: nothing. */
async function knows(key: string | null, identity = server.identityFile): Promise<void> {
  const file = join(tools.directory, "known_hosts");
  await writeFile(file, key === null ? "" : `[${server.host}]:${server.port} ${key}\n`);
  const lines = [`UserKnownHostsFile ${file}`, "GlobalKnownHostsFile /dev/null", `IdentityFile ${identity}`];
  await writeFile(
    join(tools.directory, "config"),
    `${[...lines, "IdentitiesOnly yes", "IdentityAgent none"].join("\n")}\n`,
  );
}

test("words arrive as they were, whatever a shell would make of them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ unit: "binary" }).filter((word) => !word.includes("\0")),
        { maxLength: 4 },
      ),
      async (words) => {
        const { ok, stdout } = await runRemote(address, ["printf", "%s|", ...words], signal);
        expect(ok).toBe(true);
        // The final newline of all is taken off; a mark stands in front of it.
        expect(stdout).toBe(words.length === 0 ? "|" : `${words.join("|")}|`.toWellFormed());
      },
    ),
    { numRuns: 10 },
  );
  const { stdout } = await runRemote(address, ["printf", "%s", "a; echo b", "$(id)", "'", "-n"], signal);
  expect(stdout).toBe("a; echo b$(id)'-n");
});

test("a command's own failure is an answer, not an error of the host", async () => {
  expect(await runRemote(address, ["sh", "-c", "echo no >&2; exit 3"], signal)).toEqual({
    ok: false,
    stdout: "",
    stderr: "no",
  });
});

test("a host with another key than before, a new one, and one that does not know us are refused, each in its own words", async () => {
  await knows(server.otherKey);
  await expect(runRemote(address, ["true"], signal)).rejects.toMatchObject({
    code: "INFRA_HOST_KEY_MISMATCH",
    message: expect.stringContaining("another SSH host key"),
  });
  await expect(openTunnel(address, { address: "127.0.0.1", port: 9 }, signal)).rejects.toMatchObject({
    code: "INFRA_HOST_KEY_MISMATCH",
  });
  await knows(null);
  await expect(runRemote(address, ["true"], signal)).rejects.toMatchObject({
    code: "INFRA_HOST_KEY_MISMATCH",
    message: expect.stringContaining("not known"),
  });
  await knows(server.hostKey, server.strangerFile);
  await expect(runRemote(address, ["true"], signal)).rejects.toMatchObject({
    code: "INFRA_HOST_UNREACHABLE",
    details: { hint: expect.stringContaining("key") },
  });
  const nobody = { ...address, port: await closedPort() };
  await expect(runRemote(nobody, ["true"], signal)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
});

test.skipIf(lacks("other-user"))("a tunnel is refused whose port another user takes before ssh does", async () => {
  const file = join(tools.directory, "arguments");
  const own = await createFakeTools();
  onTestFinished(() => own.remove());
  // As long as a connection takes.
  await own.add("ssh", `echo "$@" > ${file}; sleep 5; exit 255`);
  vi.stubEnv("PATH", `${own.directory}${delimiter}${process.env.PATH}`);
  const tunnel = openTunnel(address, { address: "127.0.0.1", port: 9 }, signal);
  const refused = expect(tunnel).rejects.toMatchObject({
    code: "INFRA_FAILED",
    message: expect.stringContaining("Another user's process has taken port"),
  });
  const port = await vi.waitFor(async () => Number(/-L 127\.0\.0\.1:(\d+):/.exec(await readFile(file, "utf8"))?.[1]));
  await startForeignListener(port);
  await refused;
});

test("a tunnel leads to a node's port there, and ends when it is closed", async () => {
  const node = createServer((_request, response) => response.end("a node")).listen(0, "127.0.0.1");
  await once(node, "listening");
  const target = node.address();
  const port = typeof target === "object" && target ? target.port : 0;
  try {
    const plan = dockerPlan({
      postgres: null,
      nodes: [nodePlan("alpha", { host: address.url, publish: { address: "127.0.0.1", port } })],
    });
    const connection = await createDockerDriver(plan, { registry: null }).connect("alpha", signal);
    expect(await (await fetch(connection.url, { headers: { connection: "close" } })).text()).toBe("a node");
    await connection.close();
    const socket = connect(Number(new URL(connection.url).port), "127.0.0.1");
    const [error] = await once(socket, "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
  } finally {
    node.close();
  }
});

test("work of any length ends where the host falls silent, and is not disturbed before", {
  timeout: 120_000,
}, async () => {
  const proxy = await startStalledProxy();
  onTestFinished(() => proxy.stop());
  vi.stubEnv("PATH", `${proxy.programs}${delimiter}${process.env.PATH}`);
  const failing = () => Promise.reject(new Error("its own"));
  await expect(whileReachable(proxy.url, signal, failing, 10)).rejects.toThrow("its own");
  expect(await whileReachable(proxy.url, signal, () => sleep(1_000, "done"), 10)).toBe("done");
  const long = whileReachable(proxy.url, signal, (ending) => sleep(3_600_000, "done", { signal: ending }), 10);
  proxy.silence();
  await expect(long).rejects.toMatchObject({
    code: "INFRA_HOST_UNREACHABLE",
    message: expect.stringContaining("127.0.0.1 cannot be reached over SSH"),
  });
});

test("an abort ends a command", async () => {
  const abort = new AbortController();
  const running = runRemote(address, ["sleep", "600"], abort.signal);
  abort.abort(new Error("enough"));
  await expect(running).rejects.toThrow("enough");
});

test.skipIf(lacks("docker"))("Docker's own questions go the same way", async () => {
  const plan = dockerPlan({ postgres: null, nodes: [nodePlan("alpha", { host: address.url, publish: null })] });
  const driver = createDockerDriver(plan, { registry: null });
  expect((await driver.preflight(signal)).filter(({ severity }) => severity === "error")).toEqual([]);
  expect(await driver.observe(signal)).toEqual([expect.objectContaining({ state: "missing", place: address.url })]);
  expect(await driver.hasImage("cairn-test/none:0", address.url, signal)).toBe(false);
  await knows(server.otherKey);
  expect(await driver.preflight(signal)).toEqual([expect.objectContaining({ code: "INFRA_HOST_KEY_MISMATCH" })]);
});
