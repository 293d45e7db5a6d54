import { spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { isAlive } from "../../control/service/node-state.ts";
import { type Cli, createCli } from "../support/cli.ts";

const PROGRAM = fileURLToPath(new URL("../support/cairn.ts", import.meta.url));
/** util-linux's `script` gives a program a terminal. */
const HAS_SCRIPT = spawnSync("script", ["--version"]).status === 0;
/** The real service; no stand-in. No key and no local model server, so that it is the offline provider which answers. */
const REAL = { CAIRN_STAND_IN: "", SERVICE_API_TOKEN: "", SERVICE_LISTEN: "127.0.0.1:0" };

describe("a fresh machine", () => {
  it("runs an agent after one command, which remembers through kill -9", async () => {
    const cli = await createCli({ configured: false });
    const first = await start(cli);
    expect(first.init?.files).not.toHaveLength(0);
    expect(await readFile(join(cli.home, ".env"), "utf8")).toMatch(/^SERVICE_API_TOKEN=cairn_/m);
    await say(cli, "My cat is called Mitzi.");

    process.kill(first.pid, "SIGKILL");
    await untilGone(first.pid);
    expect(await run(cli, ["status"], 1)).toMatchObject({ running: false });

    const second = await start(cli);
    expect(second.init).toBeNull();
    expect(await say(cli, "What is my cat called?")).toContain("Mitzi");
    expect(await run(cli, ["stop"])).toMatchObject({ was_running: true, pid: second.pid, killed: false });
  });

  it("remembers what a backup of another one holds", async () => {
    const cli = await createCli({ configured: false });
    await start(cli);
    await say(cli, "My cat is called Mitzi.");
    await run(cli, ["memory", "backup", "a.backup"]);
    await run(cli, ["stop"]);

    const other = await createCli({ configured: false });
    await run(other, ["init", "--yes"]);
    const restored = await run(other, ["memory", "restore", join(cli.home, "a.backup")]);
    expect(restored["counts"]).toMatchObject({ messages: expect.any(Number) });
    await start(other);
    expect(await say(other, "What is my cat called?")).toContain("Mitzi");
  });

  it.skipIf(!HAS_SCRIPT)("ends a node in the foreground, in order, when its terminal is closed", async () => {
    const cli = await createCli({ configured: false });
    const command = `${process.execPath} ${PROGRAM} start`;
    const terminal = spawn("script", ["-qfec", command, "/dev/null"], {
      env: { ...cli.env, ...REAL },
      stdio: "ignore",
    });
    onTestFinished(() => void terminal.kill("SIGKILL"));
    const { pid } = await untilAnnounced(cli.home);
    terminal.kill("SIGKILL");
    await untilGone(pid);
    const { entries } = await run(cli, ["logs", "--lines", "1"]);
    expect(entries).toMatchObject([{ msg: "stopped" }]);
  });

  it("is not left held by the short-lived process of a command that was killed", async () => {
    const cli = await createCli({ configured: false });
    await run(cli, ["init", "--yes"]);
    const child = cli.start(["memory", "import", "-"], { env: REAL });
    const { pid, maintenance } = await untilAnnounced(cli.home);
    expect(maintenance).toBe(true);
    child.kill("SIGKILL");
    await untilGone(pid);
    expect(await run(cli, ["status"], 1)).toMatchObject({ state: "stopped" });
  });

  it("moves messages between two memories as JSON lines, skipping what is there", async () => {
    const cli = await createCli({ configured: false });
    await start(cli);
    await say(cli, "The harbour opens at six.");
    await run(cli, ["stop"]);
    await run(cli, ["memory", "export", "a.jsonl"]);

    const other = await createCli({ configured: false });
    await run(other, ["init", "--yes"]);
    const file = join(cli.home, "a.jsonl");
    const imported = await run(other, ["memory", "import", file]);
    expect(imported).toMatchObject({ imported: 2, skipped: 0 });
    expect(await run(other, ["memory", "import", file])).toMatchObject({ imported: 0, skipped: 2 });
  });
});

interface Started {
  readonly pid: number;
  readonly init: { readonly files: readonly unknown[] } | null;
}

async function start(cli: Cli): Promise<Started> {
  const started = await run(cli, ["start", "--detach"]);
  const pid = Number(started["pid"]);
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return { pid, init: started["init"] as Started["init"] };
}

async function untilAnnounced(home: string): Promise<{ readonly pid: number; readonly maintenance: boolean }> {
  for (;;) {
    const text = await readFile(join(home, "run", "node.json"), "utf8").catch(() => null);
    if (text !== null) return JSON.parse(text);
    await sleep(50);
  }
}

async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(50);
}

async function say(cli: Cli, text: string): Promise<string> {
  return String((await run(cli, ["chat", "--message", text]))["text"]);
}

async function run(cli: Cli, argv: readonly string[], code = 0): Promise<Record<string, unknown>> {
  const outcome = await cli.run([...argv, "--json"], { env: REAL });
  expect(outcome, outcome.stdout + outcome.stderr).toMatchObject({ code });
  return JSON.parse(outcome.stdout);
}
