import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Report, reportSchema } from "../../../control/doctor/report.ts";
import { lacks } from "../../lanes/tools.ts";
import { type Cli, createCli, outcomeOf, type RunOptions, TOKEN } from "../../support/cli.ts";
import { MINIMAL } from "../../support/deployment.ts";

// Each test runs several processes, which take their time on a busy machine; so do the checks.
const PATIENT = ["--timeout", "20"];
const PROGRAM = fileURLToPath(new URL("../../support/cairn.ts", import.meta.url));

describe("the exit code and the one document", () => {
  it("are 0 and a report while nothing fails, with warnings and without a node", async () => {
    const { cli } = await healthy();
    const { code, report, stderr } = await doctor(cli, ["--skip", "updates"]);
    expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(report).toMatchObject({ schema: 1, status: "warn" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("say 1 for warnings with --strict", async () => {
    const { cli } = await healthy();
    expect((await doctor(cli, ["--only", "deployment.node", "--strict"])).code).toBe(1);
  });

  it("say 1 for a failure, and the report is there all the same", async () => {
    const cli = await createCli({ configured: false });
    const { code, report } = await doctor(cli);
    expect(code).toBe(1);
    expect(report.checks.find(({ id }) => id === "config.present")).toMatchObject({
      status: "fail",
      fix: expect.stringContaining("cairn init"),
    });
  });

  it.each([
    [["--only", "databse"], "database"],
    [["--fix"], "--yes"],
  ])("say 2 when it is used wrongly: %j", async (argv, hint) => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["doctor", "--json", ...argv]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { hint: expect.stringContaining(hint) } });
  });

  it("say 2 when doctor itself cannot run", async () => {
    const cli = await createCli();
    const gone = join(cli.home, "gone");
    await mkdir(gone);
    // A directory that is removed under the command's feet.
    const child = spawn(
      "sh",
      ["-c", `cd '${gone}' && rmdir '${gone}' && exec '${process.execPath}' '${PROGRAM}' doctor --json`],
      {
        env: cli.env,
      },
    );
    const { code, stdout } = await outcomeOf(child);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false });
  });
});

describe("doctor on a broken deployment", () => {
  it("ends in time although database and provider say nothing", async () => {
    const { port } = await muteServer();
    const cli = await createCli();
    await writeFile(
      join(cli.home, "cairn.yaml"),
      `version: 1
agents: { main: { provider: slow } }
providers: { slow: { kind: openai-compatible, model: m, base_url: "http://127.0.0.1:${port}/v1" } }
memory: { postgres: { connection_string: "postgresql://u:hidden-password@127.0.0.1:${port}/db" } }
`,
    );
    const { code, report, stdout } = await doctor(cli, ["--timeout", "1"]);
    expect(code).toBe(1);
    expect(statusOf(report, "database.reachable").message).toMatch(/cannot be used|timed out after/i);
    expect(statusOf(report, "database.version").status).not.toBe("pass");
    expect(statusOf(report, "providers.reachable").message).toMatch(/no answer in time|timed out after/i);
    expect(statusOf(report, "system.node").status).toBe("pass");
    expect(stdout).not.toContain("hidden-password");
  });

  it("leaves although checks were not done in time", async () => {
    const cli = await createCli();
    const { code, report } = await doctor(cli, ["--timeout", "0.001"]);
    expect(code).toBe(1);
    expect(report.summary.fail).toBeGreaterThan(0);
  });

  it("runs without HOME", async () => {
    const { cli } = await healthy();
    const { code, report } = await doctor(cli, ["--skip", "updates"], { env: { HOME: undefined } });
    expect(code).toBe(0);
    expect(statusOf(report, "system.home").status).toBe("pass");
  });

  it.skipIf(lacks("other-user"))("runs as a user who may write nothing", async () => {
    const { cli } = await healthy();
    await chmod(join(cli.home, ".env"), 0o600);
    await chmod(join(cli.home, ".."), 0o755);
    const nobody = Number(execFileSync("id", ["-u", "nobody"], { encoding: "utf8" }));
    const command = [PROGRAM, "doctor", "--json", "--dir", cli.home, ...PATIENT];
    const child = spawn(process.execPath, command, {
      cwd: "/",
      uid: nobody,
      gid: nobody,
      env: { PATH: process.env.PATH, HOME: "/nonexistent", SERVICE_HOME: cli.home },
    });
    const { code, stdout } = await outcomeOf(child);
    expect(code).toBe(1);
    const report = reportSchema.parse(JSON.parse(stdout));
    expect(statusOf(report, "system.home")).toMatchObject({
      status: "fail",
      message: expect.stringContaining("EACCES"),
    });
    for (const id of ["secrets.file", "config.present"]) {
      expect(statusOf(report, id)).toMatchObject({ status: "fail", message: expect.stringContaining("EACCES") });
    }
  });
});

describe("doctor beside a node", () => {
  it("tells what the node says", async () => {
    const { cli } = await healthy();
    await cli.node();
    const { report } = await doctor(cli);
    expect(statusOf(report, "deployment.node")).toMatchObject({
      status: "pass",
      message: expect.stringContaining("healthy"),
    });
    expect(statusOf(report, "channels.connected").status).toBe("pass");
    expect(statusOf(report, "queues.failed").status).toBe("pass");
    expect(statusOf(report, "updates.running")).toMatchObject({
      status: "warn",
      message: expect.stringContaining("0.0.0-stand-in"),
    });
  });

  it("tells that the node has another token", async () => {
    const { cli } = await healthy();
    await cli.node();
    const { code, report, stdout } = await doctor(cli, [], {
      env: { SERVICE_API_TOKEN: "another-token-than-the-node" },
    });
    expect(code).toBe(1);
    expect(statusOf(report, "secrets.token")).toMatchObject({ status: "fail" });
    expect(statusOf(report, "memory.writes").status).toBe("skip");
    expect(stdout).not.toContain("another-token-than-the-node");
  });
});

describe("--fix", () => {
  it("repairs with --yes, tells it, and is done at the second time", async () => {
    const { cli } = await healthy();
    await chmod(join(cli.home, ".env"), 0o644);
    await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}runtime:\n  lisen: 127.0.0.1:0 # any\n`);
    const first = await doctor(cli, ["--fix", "--yes"]);
    expect(first.report.repairs?.map(({ check, outcome }) => `${check} ${outcome}`)).toEqual([
      "config.keys done",
      "secrets.file done",
    ]);
    expect(first.stderr).toContain("+   listen: 127.0.0.1:0 # any");
    expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toBe(
      `${MINIMAL}runtime:\n  listen: 127.0.0.1:0 # any\n`,
    );
    expect(await readFile(join(cli.home, "cairn.yaml.bak"), "utf8")).toContain("lisen");
    expect((await stat(join(cli.home, ".env"))).mode & 0o777).toBe(0o600);
    expect((await doctor(cli, ["--fix", "--yes"])).report.repairs).toEqual([]);
  });

  it("leaves whole files behind, whenever it is killed", async () => {
    const { cli } = await healthy();
    const file = join(cli.home, "cairn.yaml");
    const broken = `${MINIMAL}runtime:\n  lisen: 127.0.0.1:0\n${"# filler\n".repeat(2_000)}`;
    const right = broken.replace("lisen", "listen");
    for (const delay of [600, 1_000]) {
      await writeFile(file, broken);
      const child = cli.start(["doctor", "--fix", "--yes", "--json"]);
      const ended = once(child, "close");
      setTimeout(() => child.kill("SIGKILL"), delay);
      await ended;
      expect([broken, right]).toContain(await readFile(file, "utf8"));
    }
  });

  it.skipIf(lacks("script"))("asks on a terminal, and changes nothing when the answer is no", async () => {
    const { cli } = await healthy();
    await chmod(join(cli.home, ".env"), 0o644);
    const no = await onTerminal(cli, "doctor --fix --only secrets.file", "n\r");
    expect(no).toContain("Make this change?");
    expect((await stat(join(cli.home, ".env"))).mode & 0o777).toBe(0o644);
    await onTerminal(cli, "doctor --fix --only secrets.file", "y\r");
    expect((await stat(join(cli.home, ".env"))).mode & 0o777).toBe(0o600);
  });
});

describe("the text", () => {
  it("is told without colours where they are not wanted, and names what is to be done", async () => {
    const { cli } = await healthy();
    const { code, stdout } = await cli.run(["doctor", "--only", "deployment,system.node", ...PATIENT], {
      env: { NO_COLOR: "1" },
    });
    expect(code).toBe(0);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("Fix: Start it with `cairn start --detach`.");
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^\d+ pass, 1 warn, 0 fail, \d+ skip$/);
  });

  it("may be cut short by its reader", async () => {
    const { cli } = await healthy();
    const pipe = `'${process.execPath}' '${PROGRAM}' doctor 2>err | head -n 1; echo "$?"`;
    const child = spawn("sh", ["-c", pipe], { env: cli.env, cwd: cli.home });
    const { stdout } = await outcomeOf(child);
    expect(stdout).toBe("system\n0\n");
    expect(await readFile(join(cli.home, "err"), "utf8")).toBe("");
  });

  it.skipIf(lacks("script"))("fits a terminal of 40 columns", async () => {
    const { cli } = await healthy();
    const said = await onTerminal(cli, "doctor --only deployment,database,mesh", "", "stty cols 40; ");
    const lines = stripVTControlCharacters(said).split(/\r?\n/);
    expect(lines).toContain("  skip  This node is in no mesh");
    for (const line of lines) if (line.trim().includes(" ")) expect(line.length).toBeLessThanOrEqual(40);
  });
});

/** A deployment in which nothing fails; a node is not running. */
async function healthy(): Promise<{ readonly cli: Cli }> {
  const cli = await createCli();
  await chmod(cli.home, 0o700);
  await mkdir(join(cli.home, "workspace"));
  for (const name of ["CORE.md", "USER.md", "WORKSPACE.md", "MEMORY.md"])
    await writeFile(join(cli.home, "workspace", name), "");
  await writeFile(join(cli.home, ".env"), `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  // A port that nobody listens on: no other node is found there.
  await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}runtime:\n  listen: 127.0.0.1:0\n`);
  return { cli };
}

async function doctor(cli: Cli, argv: readonly string[] = [], options: RunOptions = {}) {
  const patience = argv.includes("--timeout") ? [] : PATIENT;
  const { code, stdout, stderr } = await cli.run(["doctor", "--json", ...patience, ...argv], options);
  return { code, stdout, stderr, report: reportSchema.parse(JSON.parse(stdout)) };
}

function statusOf(report: Report, id: string): Report["checks"][number] {
  const found = report.checks.find((check) => check.id === id);
  if (found === undefined) throw new Error(`the report lacks ${id}`);
  return found;
}

/** Takes connections and never says a word. */
async function muteServer(): Promise<{ readonly port: number }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}

/** Everything that the terminal showed. The keys are typed once a question is asked. */
async function onTerminal(cli: Cli, command: string, keys: string, before = ""): Promise<string> {
  const line = `${before}exec '${process.execPath}' '${PROGRAM}' ${command} ${PATIENT.join(" ")}`;
  const child = spawn("script", ["-qfec", line, "/dev/null"], { env: { ...cli.env, TERM: "xterm" }, cwd: cli.home });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  child.stdout.on("data", (piece: Buffer) => {
    const asked = shown.includes("?");
    shown += piece.toString("utf8");
    if (!asked && shown.includes("Make ")) child.stdin.write(keys);
  });
  await once(child, "close");
  return shown;
}
