import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCli, outcomeOf, untilPrinted } from "../../support/cli.ts";
import { wrongWith } from "../../support/result-schema.ts";

// Each test runs several processes, which take their time on a busy machine.

describe("a node in the background", () => {
  it("starts once it is ready, is seen, and stops", async () => {
    const cli = await createCli();
    const started = await cli.run(["start", "--detach", "--json"]);
    expect(started).toMatchObject({ code: 0 });
    const { pid, url } = JSON.parse(started.stdout);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(started.stdout).not.toContain(cli.env["SERVICE_API_TOKEN"]);

    const status = await cli.run(["status", "--json"]);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({ running: true, pid, url, health: { status: "healthy" } });

    const stopped = await cli.run(["stop", "--json"]);
    expect(stopped.code).toBe(0);
    expect(JSON.parse(stopped.stdout)).toEqual({ was_running: true, pid, killed: false });

    const after = await cli.run(["status", "--json"]);
    expect(after.code).toBe(1);
    expect(JSON.parse(after.stdout)).toMatchObject({ running: false, state: "stopped" });
  });

  it.each([
    ["", undefined],
    ["audit-lost,audit-fails", /audit log +cannot be written \(ENOSPC\), 3 lines lost since the start/],
    ["audit-lost", /audit log +3 lines lost since the start; it is written again/],
  ])("shows the audit log where lines of it are lost (%s)", async (standIn, expected) => {
    const cli = await createCli();
    await cli.node({ standIn });
    const { code, stdout } = await cli.run(["status"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(expected ?? /schema 4\n/);
    if (!expected) expect(stdout).not.toContain("audit");
  });

  it("shows which calls are suspended, and which agent has used up its budget", async () => {
    const cli = await createCli();
    await cli.node({ standIn: "circuit-open,budget-reached" });
    const { stdout } = await cli.run(["status"]);
    expect(stdout).toMatch(
      /offline available; calls of m\S* are suspended \(PROVIDER_TIMEOUT\), tried again in 12 s\n/,
    );
    expect(stdout).toContain("0 queued, 101 % of monthly_usd used: stopped until 2030-02-01T00:00:00.000Z\n");
  });

  it.each([
    ["", /backup +2 h ago on n1, 1\.5 kB\n/],
    ["clock-ahead", /backup +2 h ago on n1, 1\.5 kB\n/],
    ["backup-fails", /backup +2 h ago on n1, 1\.5 kB; failing on n1: The disk is full\.\n/],
  ])("shows how old the newest scheduled backup is, and why there is no newer one (%s)", async (standIn, expected) => {
    const cli = await createCli();
    await cli.node({ standIn });
    expect((await cli.run(["status"])).stdout).toMatch(expected);
  });

  it("sets up what is missing before the first start, and says where to talk to it", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout } = await cli.run(["start", "--detach"], { env: { SERVICE_LISTEN: "127.0.0.1:0" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
    expect(stdout).toContain("SERVICE_API_TOKEN");
    expect(stdout).toContain("`cairn chat --agent main`");
    expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toContain("version: 1");
  });

  it("is of the home directory that the command was given, also where that is relative", async () => {
    const cli = await createCli();
    const relative = { env: { SERVICE_HOME: "elsewhere" } };
    expect((await cli.run(["start", "--detach", "--dir", "."], relative)).code).toBe(0);
    const status = JSON.parse((await cli.run(["status", "--json", "--dir", "."], relative)).stdout);
    expect(status).toMatchObject({ running: true, dir: cli.home, home: join(cli.home, "elsewhere") });
    expect((await cli.run(["stop"], relative)).code).toBe(0);
  });

  it("says that others could read .env before it was closed to them, whichever command looks first", async () => {
    const warning = /\.env: others could read it: its mode was 0644 and is now 0600; change secrets/;
    for (const [argv, configured] of [
      [["start", "--detach"], true],
      [["start", "--detach"], false],
      [["chat", "hello"], true],
      [["token", "list"], true],
    ] as const) {
      const cli = await createCli({ configured });
      await writeFile(join(cli.home, ".env"), "SOME_KEY=1\n");
      await chmod(join(cli.home, ".env"), 0o644);
      const { stderr } = await cli.run(argv, { env: { SERVICE_LISTEN: "127.0.0.1:0" } });
      expect(stderr, argv.join(" ")).toMatch(warning);
      expect((await stat(join(cli.home, ".env"))).mode & 0o777).toBe(0o600);
    }
  });

  it("says at its start what this version does not do, and does not start where somebody relies on it", async () => {
    const cli = await createCli();
    const file = join(cli.home, "cairn.yaml");
    const minimal = await readFile(file, "utf8");
    await writeFile(file, `${minimal}telemetry: { otlp: on }\n`);
    const started = await cli.run(["start", "--detach"]);
    expect(started.code).toBe(0);
    expect(started.stderr).toContain("Note: telemetry.otlp: this version sends no traces");
    await writeFile(file, `${minimal}runtime: { tls: off }\nmesh: { enabled: true }\n`);
    for (const argv of [
      ["restart", "--json"],
      ["config", "validate", "--json"],
    ]) {
      const { code, stdout } = await cli.run(argv);
      expect(code, argv.join(" ")).toBe(1);
      expect(stdout).toContain("nodes of a mesh speak TLS, and runtime.tls is off");
      expect(stdout).toContain('"tls-missing"');
    }
  });

  it("refuses to start beside a running one, naming it", async () => {
    const cli = await createCli();
    const node = await cli.node();
    const { code, stdout } = await cli.run(["start", "--detach", "--json"]);
    expect(code).toBe(1);
    const { error } = JSON.parse(stdout);
    expect(error.code).toBe("RUNTIME_ALREADY_RUNNING");
    expect(error.message).toContain(String(node.pid));
    expect(error.message).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
  });

  it("tells the error that the runtime reports", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["start", "--detach"], { standIn: "fail" });
    expect(code).toBe(1);
    expect(stderr).toContain("The store is in use.");
    expect(stderr).toContain("Stop the other process.");
    expect(stderr).toContain("MEMORY_STORE_LOCKED");
  });

  it("tells what the runtime said last when it ended without a report", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["start", "--detach", "--json"], { standIn: "crash" });
    expect(code).toBe(1);
    const { error } = JSON.parse(stdout);
    expect(error.code).toBe("RUNTIME_START_FAILED");
    expect(error.message).toContain("the stand-in crashed before it was ready");
  });

  it("leaves no process behind when it is not ready in time", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["start", "--detach", "--timeout", "3"], { standIn: "hang" });
    expect(code).toBe(1);
    expect(stderr).toContain("not ready after 3 s");
    expect(stderr).toContain("waiting for the database: nobody there");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ state: "stopped" });
  });

  it("leaves no process behind when the start is interrupted, and exits 130", async () => {
    const cli = await createCli();
    const child = cli.start(["start", "--detach"], { standIn: "hang" });
    await untilThere(join(cli.home, "run", "node.json"));
    child.kill("SIGINT");
    expect((await outcomeOf(child)).code).toBe(130);
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ state: "stopped" });
  });

  it("is restarted as another process", async () => {
    const cli = await createCli();
    const before = JSON.parse((await cli.run(["start", "--detach", "--json"])).stdout);
    const { code, stdout } = await cli.run(["restart", "--json"]);
    expect(code).toBe(0);
    const after = JSON.parse(stdout);
    expect(after.stopped).toEqual({ was_running: true, pid: before.pid, killed: false });
    expect(after.pid).not.toBe(before.pid);
  });

  it("goes on running when a changed configuration is invalid", async () => {
    const cli = await createCli();
    const { pid } = await cli.node();
    await writeFile(join(cli.home, "cairn.yaml"), "version: 1\nagents: 7\n");
    const { code, stderr } = await cli.run(["restart"]);
    expect(code).toBe(1);
    expect(stderr).toContain("CONFIG_INVALID");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ running: true, pid });
  });

  it("goes on running when the start that is tried first fails", async () => {
    const cli = await createCli();
    const { pid } = await cli.node();
    const { code, stderr } = await cli.run(["restart"], { env: { STAND_IN: "fail" } });
    expect(code).toBe(1);
    expect(stderr).toContain(`The store is in use. The node that runs (process ${pid}) was left as it is.`);
    expect(stderr).toContain("Stop the other process.");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ running: true, pid });
  });

  it("is told of as gone where its restart fails in spite of that", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stderr } = await cli.run(["restart"], { env: { STAND_IN: "fail-start" } });
    expect(code).toBe(1);
    expect(stderr).toContain("No node runs now: `cairn start --detach` starts one.");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ running: false });
  });
});

it.each(["up", "destroy"])("infra %s says that the target is manual before it wants an answer", async (command) => {
  const cli = await createCli();
  const { code, stderr } = await cli.run(["infra", command]);
  expect(code).toBe(1);
  expect(stderr).toContain("INFRA_TARGET_MANUAL");
  expect(stderr).not.toContain("terminal");
});

describe("a node in the foreground", () => {
  it("takes the place of the command: its process, its signals, its exit code", async () => {
    const cli = await createCli();
    const child = cli.start(["start"]);
    await untilThere(join(cli.home, "run", "node.json"));
    const status = JSON.parse((await cli.run(["status", "--json"])).stdout);
    expect(status).toMatchObject({ running: true, pid: child.pid });
    child.kill("SIGTERM");
    expect(await outcomeOf(child)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("has no result to print as JSON", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["start", "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error.hint).toContain("--detach");
  });

  it("reports an invalid configuration before anything is started", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "cairn.yaml"), "version: 1\nruntime:\n  listen: nowhere\n");
    const { code, stderr } = await cli.run(["start"], { env: { SERVICE_LISTEN: "" } });
    expect(code).toBe(1);
    expect(stderr).toContain("runtime.listen");
  });
});

describe("stopping", () => {
  it("is no error when nothing runs", async () => {
    const cli = await createCli();
    expect(await cli.run(["stop"])).toEqual({ code: 0, stdout: "No node is running.\n", stderr: "" });
  });

  it("never signals another process that has got the number of a node that is gone", async () => {
    const cli = await createCli();
    const innocent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    onTestFinished(() => void innocent.kill("SIGKILL"));
    await writeNodeFile(cli.home, innocent.pid);

    expect(await cli.run(["stop", "--timeout", "0", "--force"])).toMatchObject({
      code: 0,
      stdout: "No node is running.\n",
    });
    expect(innocent.exitCode).toBeNull();
    expect(innocent.signalCode).toBeNull();
  });

  it("never signals a process that only has the number, while a starting node holds the lock", async () => {
    const cli = await createCli();
    await cli.node();
    const innocent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    onTestFinished(() => void innocent.kill("SIGKILL"));
    const announced = await readFile(join(cli.home, "run", "node.json"), "utf8");
    await writeNodeFile(cli.home, innocent.pid);

    const { code, stdout } = await cli.run(["stop", "--force", "--json"]);
    await writeFile(join(cli.home, "run", "node.json"), announced);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error.code).toBe("RUNTIME_CONFLICT");
    expect(innocent.signalCode).toBeNull();
  });

  it("leaves the short-lived process of another command alone", async () => {
    const cli = await createCli();
    const maintenance = await cli.node({ maintenance: true });
    expect((await cli.run(["stop"])).code).toBe(1);
    expect(maintenance.signalCode).toBeNull();
    expect(maintenance.exitCode).toBeNull();
  });

  it("waits for a node that takes its time", async () => {
    const cli = await createCli();
    const { pid } = await cli.node({ standIn: "slow-stop" });
    const { code, stdout, stderr } = await cli.run(["stop"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `The node (process ${pid}) has stopped.\n` });
    expect(stderr).toContain("Waiting for the node to end");
  });

  it("gives up after --timeout, and kills only with --force", async () => {
    const cli = await createCli();
    const node = await cli.node({ standIn: "ignore-term" });
    const exited = once(node, "exit");
    const patient = await cli.run(["stop", "--timeout", "1", "--json"]);
    expect(patient.code).toBe(1);
    expect(JSON.parse(patient.stdout).error).toMatchObject({ code: "RUNTIME_STOP_TIMEOUT" });
    expect(node.signalCode).toBeNull();

    const forced = await cli.run(["stop", "--timeout", "1", "--force", "--json"]);
    expect(forced.code).toBe(0);
    expect(JSON.parse(forced.stdout)).toEqual({ was_running: true, pid: node.pid, killed: true });
    expect(await exited).toEqual([null, "SIGKILL"]);
  });

  it("exits 130 when it is interrupted while it waits", async () => {
    const cli = await createCli();
    await cli.node({ standIn: "ignore-term" });
    const child = cli.start(["stop"]);
    child.stderr?.once("data", () => child.kill("SIGINT"));
    expect((await outcomeOf(child)).code).toBe(130);
  });

  it("tells with --json in exactly one document that it was interrupted", async () => {
    const cli = await createCli();
    const child = cli.start(["start", "--detach", "--json"], { standIn: "hang" });
    await untilThere(join(cli.home, "run", "node.json"));
    child.kill("SIGINT");
    const { code, stdout } = await outcomeOf(child);
    expect(code).toBe(130);
    const document: unknown = JSON.parse(stdout);
    expect(document).toMatchObject({ ok: false, error: { code: "RUNTIME_INTERRUPTED", retryable: true } });
    expect(wrongWith("error", document)).toBeNull();
  });
});

describe("the output of a command", () => {
  it("obeys nothing that a node has written, and keeps its own colours", async () => {
    const cli = await createCli();
    await cli.node({ standIn: "hostile" });
    const env = { FORCE_COLOR: "1" };
    const status = await cli.run(["status"], { env });
    expect(status.stdout).toContain("offline\\u001b]0;title\\u0007");
    const stats = await cli.run(["memory", "stats"], { env });
    expect(stats.stdout).toContain("\\u001b[2J\\u001b[8m\\u000d\\u009b1A");
    const failed = await cli.run(["memory", "queue-status"], { env });
    for (const { stdout, stderr } of [status, stats, failed]) {
      // What is left between the command's own colours.
      const rest = `${stdout}${stderr}`.split(/\p{Cc}\[(?:1|2|22|31|32|33|36|39)m|[\n\t]/u).join("");
      expect(rest).not.toMatch(/\p{Cc}/u);
    }
    expect(status.stdout).toContain("\u001b[32mhealthy\u001b[39m");
    expect(status.stdout).not.toContain("\u001b[8m");
  });

  it("may be closed early by its reader without a word", async () => {
    const cli = await createCli();
    await mkdir(join(cli.home, "logs"));
    const line = `${JSON.stringify({ level: "info", time: "2030-01-31T00:00:00Z", msg: "x".repeat(200) })}\n`;
    await writeFile(join(cli.home, "logs", "cairn.1.log"), line.repeat(20_000));
    const child = cli.start(["logs", "--lines", "20000"]);
    await untilPrinted(child, "xxx");
    child.stdout?.destroy();
    const errors: Buffer[] = [];
    child.stderr?.on("data", (piece: Buffer) => errors.push(piece));
    const [code] = await once(child, "close");
    expect(Buffer.concat(errors).toString()).toBe("");
    expect(code).toBe(0);
  });
});

async function writeNodeFile(home: string, pid: number | undefined): Promise<void> {
  await mkdir(join(home, "run"), { recursive: true });
  await writeFile(join(home, "run", "node.lock"), "", { flag: "a" });
  const started_at = new Date(Date.now() - 60_000).toISOString();
  await writeFile(
    join(home, "run", "node.json"),
    JSON.stringify({ pid, url: "http://127.0.0.1:9", started_at, dir: home }),
  );
}

async function untilThere(path: string): Promise<void> {
  while ((await stat(path).catch(() => null)) === null) await new Promise((resolve) => setTimeout(resolve, 20));
}
