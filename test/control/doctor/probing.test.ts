import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { localProbe } from "../../../control/doctor/context/deployment-probe.ts";
import { thisMachine } from "../../../control/doctor/context/machine.ts";
import { findTool, runTool } from "../../../control/doctor/context/tools.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { MINIMAL, temporaryDirectory } from "../../support/deployment.ts";
import { healthWith, probeContextWith } from "./probe-context.ts";

const TOKEN = "long-enough-for-a-token";

describe("looking for a node that does not run from this home", () => {
  it("finds the one that answers at the configured address", async () => {
    const { port, seen } = await server((path) =>
      path === "/api/mesh/ping" ? { node_id: "n", name: "box", version: "1" } : healthWith(),
    );
    const context = await at(port);
    expect(await context.node()).toMatchObject({ state: "elsewhere", health: { status: "healthy" } });
    // It is asked who it is before it gets to see the token.
    expect(seen).toEqual(["/api/mesh/ping -", `/health Bearer ${TOKEN}`]);
  });

  it("takes the refusal of one that wants a token for the answer of a node", async () => {
    const refusal = new RuntimeError("RUNTIME_UNAUTHORIZED", "A token is needed.");
    const { port, seen } = await server((path) => (path === "/health" ? healthWith() : refusal));
    expect(await (await at(port)).node()).toMatchObject({ state: "elsewhere" });
    expect(seen).toEqual(["/api/mesh/ping -", `/health Bearer ${TOKEN}`]);
  });

  it("gives the token to nobody who is no node", async () => {
    const { port, seen } = await server(() => ({ hello: "world" }));
    expect(await (await at(port)).node()).toMatchObject({
      state: "stopped",
      health: null,
      taken: expect.stringContaining("another program"),
    });
    expect(seen).toEqual(["/api/mesh/ping -"]);
  });

  it("takes a port that nobody listens on for no other program", async () => {
    // One that was just given back.
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    expect(await (await at(port)).node()).toMatchObject({ state: "stopped", taken: null, died: null });
  });

  it("gives up in time on one that says nothing", async () => {
    const { port } = await server(() => null);
    expect(await (await at(port, 200)).node()).toMatchObject({ state: "stopped" });
  });

  it("asks no other machine", async () => {
    const context = await probeContextWith({ yaml: `${MINIMAL}runtime:\n  listen: 192.0.2.1:7433\n`, probeMs: 60_000 });
    expect(await context.node()).toMatchObject({ state: "stopped" });
  });
});

describe("the programs of the machine", () => {
  it("are asked, and whatever they exit with is an answer", async () => {
    const signal = AbortSignal.timeout(EVENTUALLY_MS);
    expect(await runTool("sh", ["-c", "echo out; echo err >&2; exit 3"], { signal })).toEqual({
      code: 3,
      stdout: "out\n",
      stderr: "err\n",
    });
    await expect(runTool("no-such-program-here", [], { signal })).rejects.toThrow("ENOENT");
  });

  it("are killed when they hang", async () => {
    await expect(runTool("sleep", ["60"], { signal: AbortSignal.timeout(50) })).rejects.toThrow(
      "did not answer in time",
    );
  });

  it("are found on the path when they may be run", async () => {
    const folder = await temporaryDirectory();
    await writeFile(join(folder, "tool"), "");
    await writeFile(join(folder, "text"), "", { mode: 0o644 });
    await chmod(join(folder, "tool"), 0o755);
    expect(await findTool("tool", `/nowhere:${folder}`)).toBe(join(folder, "tool"));
    if (process.getuid?.() !== 0) expect(await findTool("text", folder)).toBeNull();
    expect(await findTool("missing", folder)).toBeNull();
  });

  it("tell what Docker complains of", async () => {
    const folder = await temporaryDirectory();
    const docker = join(folder, "docker");
    await writeFile(docker, "#!/bin/sh\necho 'no such socket' >&2\nexit 1\n");
    await chmod(docker, 0o755);
    vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
    const probe = localProbe({ hostname: hostname(), userHome: undefined, unitFolders: [] });
    expect(await probe.hasTool("docker")).toBe(true);
    expect(await probe.dockerProblem(AbortSignal.timeout(EVENTUALLY_MS))).toBe("no such socket");
    await writeFile(docker, "#!/bin/sh\necho 28.0\n");
    expect(await probe.dockerProblem(AbortSignal.timeout(EVENTUALLY_MS))).toBeNull();
  });
});

it("this machine tells figures that can be true", async () => {
  const machine = thisMachine();
  const { totalBytes, availableBytes } = await machine.memory();
  expect(availableBytes).toBeGreaterThan(0);
  expect(availableBytes).toBeLessThanOrEqual(totalBytes);
  const disk = await machine.disk(await temporaryDirectory());
  expect(disk.freeBytes).toBeLessThanOrEqual(disk.totalBytes);
  const files = await machine.openFiles(AbortSignal.timeout(EVENTUALLY_MS));
  expect(files).toBeGreaterThan(2);
  expect(await machine.openFiles(AbortSignal.timeout(EVENTUALLY_MS), process.pid)).toBe(files);
});

async function at(port: number, probeMs?: number) {
  const context = await probeContextWith({
    yaml: `${MINIMAL}runtime:\n  listen: 127.0.0.1:${port}\n`,
    env: `SERVICE_API_TOKEN=${TOKEN}\n`,
    ...(probeMs === undefined ? {} : { probeMs }),
  });
  await mkdir(context.paths.home ?? "");
  return context;
}

/** Answers with a result, or never; remembers who was asked for what. */
async function server(answer: (path: string) => object | null): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const http = createServer((request: IncomingMessage, response) => {
    seen.push(`${request.url} ${request.headers.authorization ?? "-"}`);
    const result = answer(request.url ?? "");
    if (result instanceof RuntimeError) {
      response.writeHead(result.status).end(JSON.stringify({ ok: false, error: result.toBody() }));
    } else if (result !== null) response.end(JSON.stringify({ ok: true, result }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { port: (http.address() as AddressInfo).port, seen };
}
