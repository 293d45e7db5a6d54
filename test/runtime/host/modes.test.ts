/** A node whose own files were locked, or opened to others, by a command of its own user: it starts again, and says so. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { homePaths } from "../../../runtime/host/home.ts";
import { repairModes } from "../../../runtime/host/modes.ts";
import { ROOT } from "../../../scripts/lib/paths.js";
import { QUICK_START } from "../../lanes/quick-start.ts";
import { lacks } from "../../lanes/tools.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const NOBODY = 65_534;
const START_TIMEOUT_MS = 120_000;
const YAML = "version: 1\nruntime: { workspace: /WORKSPACE }\nagents: { main: {} }\nproviders: { offline: {} }\n";

/** Starts a short-lived node as an ordinary user, and ends it; what it said to its parent. */
async function startNode(base: string): Promise<unknown> {
  const child = fork(
    join(ROOT, "runtime/main.ts"),
    ["--dir", base, "--home", join(base, "at", "home"), "--maintenance"],
    {
      cwd: base,
      env: { PATH: process.env["PATH"], HOME: base },
      execArgv: ["--no-warnings", ...QUICK_START],
      stdio: "ignore",
      ...(process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
    },
  );
  const ended = once(child, "exit");
  const [message] = await Promise.race([once(child, "message"), ended]);
  child.kill("SIGTERM");
  await ended;
  return message;
}

async function deployment(): Promise<string> {
  const base = await temporaryDirectory();
  await mkdir(join(base, "at", "workspace"), { recursive: true });
  await mkdir(join(base, "at", "home"), { mode: 0o700 });
  await placeEmbeddedCopy(join(base, "at", "home", "store"));
  await writeFile(join(base, "cairn.yaml"), YAML.replace("/WORKSPACE", join(base, "at", "workspace")));
  await writeFile(join(base, ".env"), "SERVICE_API_TOKEN=a-token-of-the-test-that-is-long\n", { mode: 0o600 });
  if (process.getuid?.() === 0) await execa("chown", ["-R", `${NOBODY}:${NOBODY}`, base]);
  return base;
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

it.skipIf(lacks("ordinary-user"))(
  "starts again after its home, key and workspace were locked, with a warning",
  {
    timeout: START_TIMEOUT_MS,
  },
  async () => {
    const base = await deployment();
    const [home, workspace] = [join(base, "at", "home"), join(base, "at", "workspace")];
    const key = join(home, "node.key");
    expect(await startNode(base)).toMatchObject({ type: "ready" });
    const before = await readFile(key, "utf8");
    onTestFinished(() => chmod(join(base, "at"), 0o700));
    for (const path of [
      key,
      workspace,
      join(home, "store"),
      join(home, "run"),
      join(home, "logs"),
      home,
      join(base, "at"),
    ])
      await chmod(path, 0o000);

    expect(await startNode(base)).toMatchObject({ type: "ready" });
    expect([await modeOf(home), await modeOf(key), await modeOf(workspace)]).toEqual(["700", "600", "700"]);
    expect(await readFile(key, "utf8")).toBe(before);
    const [log = ""] = (await readdir(join(home, "logs"))).filter(
      (name) => name.endsWith(".log") || name.includes("log"),
    );
    const lines = (await readFile(join(home, "logs", log), "utf8"))
      .split("\n")
      .filter((line) => line.includes("is repaired"));
    for (const path of [join(base, "at"), home, key, workspace])
      expect(lines.some((line) => line.includes(`"${path}"`))).toBe(true);
  },
);

it.skipIf(lacks("ordinary-user"))(
  "is started by the command, too, where its run directory was locked",
  { timeout: START_TIMEOUT_MS },
  async () => {
    const base = await deployment();
    const [home, run] = [join(base, "at", "home"), join(base, "at", "home", "run")];
    const cairn = (...command: readonly string[]) =>
      execa(
        process.execPath,
        ["--no-warnings", join(ROOT, "test/support/cairn.ts"), ...command, "--dir", base, "--json"],
        {
          cwd: base,
          env: { PATH: process.env["PATH"], HOME: base, SERVICE_HOME: home, SERVICE_LISTEN: "127.0.0.1:0" },
          extendEnv: false,
          reject: false,
          ...(process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
        },
      );
    expect(await startNode(base)).toMatchObject({ type: "ready" });
    onTestFinished(() => chmod(run, 0o700));
    await chmod(run, 0o000);
    const started = await cairn("start", "--detach");
    onTestFinished(async () => void (await cairn("stop", "--force")));
    expect(started).toMatchObject({ exitCode: 0 });
    expect(await modeOf(run)).toBe("700");
    // The node that runs, not the modes, refuses the second one.
    expect((await cairn("start", "--detach")).stdout).toContain("RUNTIME_ALREADY_RUNNING");
  },
);

it("makes a home and a key private that were opened to others, and leaves other modes alone", async () => {
  const base = await temporaryDirectory();
  const paths = homePaths(join(base, "home"));
  const workspace = join(base, "workspace");
  for (const path of [paths.home, paths.logs, workspace]) await mkdir(path, { recursive: true });
  await writeFile(paths.nodeKey, "key");
  await chmod(paths.home, 0o777);
  await chmod(paths.nodeKey, 0o640);
  await chmod(paths.logs, 0o750);
  await chmod(workspace, 0o2775);
  expect(await repairModes(paths, [workspace])).toEqual([
    { path: paths.home, from: "0777", to: "0700" },
    { path: paths.nodeKey, from: "0640", to: "0600" },
  ]);
  expect([await modeOf(paths.home), await modeOf(paths.nodeKey)]).toEqual(["700", "600"]);
  // As the image makes it.
  await chmod(paths.home, 0o770);
  expect(await repairModes(paths, [workspace])).toEqual([]);
});

it.skipIf(lacks("root"))("changes nothing that belongs to another user", async () => {
  const paths = homePaths(join(await temporaryDirectory(), "home"));
  await mkdir(paths.home);
  await chmod(paths.home, 0o777);
  await chown(paths.home, NOBODY, NOBODY);
  expect(await repairModes(paths, [])).toEqual([]);
  expect(await modeOf(paths.home)).toBe("777");
});
