import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { type Cli, createCli } from "../support/cli.ts";
import { placeEmbeddedCopy } from "../support/databases.ts";
import { REAL, run, say, start, untilAnnounced, untilGone } from "../support/real-service.ts";

const PROGRAM = fileURLToPath(new URL("../support/cairn.ts", import.meta.url));
/** util-linux's `script` gives a program a terminal. */

/** A machine whose store is made already, where it is not the making of it that is tested. */
async function prepared(): Promise<Cli> {
  const cli = await createCli({ configured: false });
  await placeEmbeddedCopy(join(cli.home, "store"));
  return cli;
}

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
    const cli = await prepared();
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

  it.skipIf(lacks("script"))("ends a node in the foreground, in order, when its terminal is closed", async () => {
    const cli = await prepared();
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
    const cli = await prepared();
    await run(cli, ["init", "--yes"]);
    const child = cli.start(["memory", "import", "-"], { env: REAL });
    const { pid, maintenance } = await untilAnnounced(cli.home);
    expect(maintenance).toBe(true);
    child.kill("SIGKILL");
    await untilGone(pid);
    expect(await run(cli, ["status"], 1)).toMatchObject({ state: "stopped" });
  });
});
