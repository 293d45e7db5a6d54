/** `cairn backup` and `cairn restore` of real deployments: what comes back, what is refused, and a kill at each step. */

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  cp,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { BackupResult } from "../../control/backup/backup.ts";
import { openBackup } from "../../control/backup/read.ts";
import { stagingOf } from "../../control/backup/restore/places.ts";
import type { RestoreResult } from "../../control/backup/restore/restore.ts";
import { ROOT } from "../../scripts/lib/paths.js";
import { lacks } from "../lanes/tools.ts";
import { rowsOf, withStore } from "../support/closed-store.ts";
import { CAIRN, environmentOf } from "../support/commands.ts";
import { createPostgresCopy } from "../support/databases.ts";
import { temporaryDirectory } from "../support/deployment.ts";
import { fill } from "../support/full-store.ts";
import { createDeployment, type Deployment, startNode } from "../support/node-process.ts";
import { wrongWith } from "../support/result-schema.ts";

// Each test starts several processes, and derives keys that take a second each.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

const CLUSTER = process.env.CAIRN_TEST_PG_URL ?? "";
const PASSPHRASE = "correct horse battery staple";
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

type Where = Pick<Deployment, "dir" | "home">;
type Backend = "embedded" | "postgres";

interface Filled {
  readonly deployment: Deployment;
  /** Of the database; the directory of the embedded store. */
  readonly store: string;
  readonly around: string;
  readonly passphrase: string;
  readonly file: string;
}

/** A deployment with rows of every kind, a workspace, and secrets. */
async function filled(backend: Backend): Promise<Filled> {
  const url = backend === "postgres" ? await createPostgresCopy(CLUSTER) : null;
  if (url !== null) ends.push(url.remove);
  const deployment = await createDeployment({
    config: {
      providers: { offline: {} },
      agents: { main: { provider: "offline" }, second: { provider: "offline", workspace: "rooms/second" } },
      memory: url === null ? {} : { postgres: { connection_string: "${SERVICE_PG_URL}" } },
    },
    env: { SERVICE_MCP_ENABLE_MEMORY_WRITE: "1", ...(url === null ? {} : { SERVICE_PG_URL: url.url }) },
  });
  ends.push(deployment.remove);
  const store = url?.url ?? join(deployment.home, "store");
  await withStore(store, fill);
  const { dir, home, workspace } = deployment;
  await mkdir(join(workspace, "notes"));
  await writeFile(join(workspace, "notes", "bees.md"), "In the garden.\n");
  await writeFile(join(workspace, "run.sh"), "#!/bin/sh\n");
  await chmod(join(workspace, "run.sh"), 0o755);
  await symlink("../run.sh", join(workspace, "notes", "inside"));
  await symlink("/etc/passwd", join(workspace, "outside"));
  await link(join(dir, ".env"), join(workspace, "second-name"));
  await mkdir(join(dir, "rooms", "second"), { recursive: true });
  await writeFile(join(dir, "rooms", "second", "SOUL.md"), "Second.\n");
  await mkdir(join(home, "credentials"), { mode: 0o700 });
  await writeFile(join(home, "credentials", "anthropic.json"), "{}", { mode: 0o600 });
  await mkdir(join(home, "spool"), { recursive: true });
  await writeFile(join(home, "spool", "waiting.json"), "not delivered yet");
  const around = await temporaryDirectory();
  const passphrase = join(around, "passphrase");
  await writeFile(passphrase, `${PASSPHRASE}\n`, { mode: 0o600 });
  return { deployment, store, around, passphrase, file: join(around, "cairn.tar.age") };
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(where: Where, argv: readonly string[], env: Record<string, string> = {}): Promise<Said> {
  const args = [CAIRN, ...argv, "--dir", where.dir];
  return promisify(execFile)(process.execPath, args, { env: { ...environmentOf(where), ...env }, cwd: "/" }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

async function result<T>(where: Where, argv: readonly string[], schema: string): Promise<T> {
  const { stdout, stderr } = await run(where, [...argv, "--json"]);
  const value = JSON.parse(stdout);
  expect(wrongWith(schema, value), `${stdout}${stderr}`).toBeNull();
  return value;
}

/** A directory that is not there yet, with a home that is `home` in it. */
function another(around: string, name = "restored"): Where {
  const dir = join(around, name);
  return { dir, home: join(dir, "home") };
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** The database under the same name, without anything in it. */
async function emptied(store: string): Promise<void> {
  if (!store.startsWith("postgres")) return;
  const client = new Client({ connectionString: CLUSTER });
  await client.connect();
  await client.query(`drop database "${nameOf(store)}" with (force)`);
  await client.query(`create database "${nameOf(store)}"`);
  await client.end();
}

async function killed(child: ChildProcess, isThere: () => Promise<boolean>): Promise<boolean> {
  const ended = once(child, "exit");
  while (child.exitCode === null && child.signalCode === null && !(await isThere())) await sleep(1);
  const inTime = child.exitCode === null;
  child.kill("SIGKILL");
  await ended;
  return inTime;
}

function start(where: Where, argv: readonly string[]): ChildProcess {
  return spawn(process.execPath, [CAIRN, ...argv, "--dir", where.dir], {
    env: environmentOf(where),
    stdio: "ignore",
    cwd: "/",
  });
}

const namesIn = (path: string): Promise<string[]> => readdir(path).catch((): string[] => []);

const BACKENDS: readonly Backend[] = CLUSTER === "" ? ["embedded"] : ["embedded", "postgres"];

describe("a backup", () => {
  it.each(BACKENDS)("brings everything back in another place (%s)", async (backend) => {
    const { deployment, store, around, passphrase, file } = await filled(backend);
    const before = await rowsOf(store);
    const flags = ["--passphrase-file", passphrase];
    const made = await result<BackupResult>(deployment, ["backup", file, ...flags], "backup");
    expect(made).toMatchObject({ outcome: "written", backend, nodes: null });
    expect(made.left_out.map(({ path }) => path).sort()).toEqual(
      ["outside", "second-name"].map((name) => join(deployment.workspace, name)),
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "latin1")).not.toContain("In the garden");
    expect(await namesIn(join(deployment.home, "run"))).not.toContain("backup");
    expect(await result(deployment, ["backup", "--verify", file, ...flags], "backup")).toMatchObject({
      outcome: "verified",
      parts: made.parts,
    });

    const target = another(around);
    const blocked = await result<RestoreResult>(target, ["restore", file, "--check", ...flags], "restore");
    if (backend === "postgres") {
      expect(blocked).toMatchObject({ outcome: "blocked", obstacles: [{ message: "The database is not empty." }] });
      expect(await run(target, ["restore", file, ...flags])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("is not empty"),
      });
      expect(await readdir(around)).toEqual(["cairn.tar.age", "passphrase"]);
      await emptied(store);
    } else expect(blocked).toMatchObject({ outcome: "possible", obstacles: [] });
    expect(await readdir(around)).toEqual(["cairn.tar.age", "passphrase"]);

    const restored = await result<RestoreResult>(target, ["restore", file, ...flags], "restore");
    expect(restored).toMatchObject({ outcome: "restored", counts: { messages: 454 }, directory: target.dir });
    expect(restored.tokens).toHaveLength(1);
    expect(await readdir(around)).toEqual(["cairn.tar.age", "passphrase", "restored"]);
    expect(await rowsOf(backend === "postgres" ? store : join(target.home, "store"))).toEqual(before);
    for (const name of ["cairn.yaml", ".env", "workspace/notes/bees.md", "workspace/run.sh", "rooms/second/SOUL.md"]) {
      expect(await readFile(join(target.dir, name), "utf8")).toBe(await readFile(join(deployment.dir, name), "utf8"));
      expect((await stat(join(target.dir, name))).mode).toBe((await stat(join(deployment.dir, name))).mode);
    }
    for (const name of ["node.key", "credentials/anthropic.json", "spool/waiting.json"]) {
      expect(await readFile(join(target.home, name), "utf8")).toBe(await readFile(join(deployment.home, name), "utf8"));
    }
    expect(await readlink(join(target.dir, "workspace", "notes", "inside"))).toBe("../run.sh");
    expect(await namesIn(join(target.dir, "workspace"))).toEqual(["notes", "run.sh"]);
    expect((await stat(target.dir)).mode & 0o777).toBe(0o700);

    const node = await startNode({ ...target, workspace: "", remove: async () => undefined });
    await node.call("/api/memory/tool/memory_append", { session_key: "s", agent: "a", role: "user", content: "after" });
    node.signal("SIGTERM");
    await node.exited;
    expect(await run(target, ["restore", file, ...flags])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${target.dir} is not empty`),
    });
  });

  it("is made of a running node, and into the directory's own folder, of which git takes nothing", async () => {
    const { deployment, passphrase } = await filled("embedded");
    const node = await startNode(deployment);
    const made = await result<BackupResult>(deployment, ["backup", "--passphrase-file", passphrase], "backup");
    node.signal("SIGTERM");
    await node.exited;
    expect(dirname(made.file)).toBe(join(deployment.dir, "backups"));
    expect(await readFile(join(deployment.dir, "backups", ".gitignore"), "utf8")).toBe("*\n");
  });

  it("has its home restored elsewhere when SERVICE_HOME says so", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const flags = ["--passphrase-file", passphrase];
    await result(deployment, ["backup", file, ...flags], "backup");
    const target = { dir: join(around, "deployment"), home: join(around, "elsewhere", "home") };
    await result(target, ["restore", file, ...flags], "restore");
    expect((await readdir(target.home)).sort()).toEqual([
      "attachments",
      "credentials",
      "logs",
      "node.key",
      "spool",
      "store",
    ]);
    expect(await namesIn(join(around, "elsewhere"))).toEqual(["home"]);
    expect((await run(target, ["memory", "stats"])).stdout).toMatch(/^messages +454/);

    // As a kill between the two renames leaves it: the home has its name, the directory has not.
    const check = ["restore", file, "--check", ...flags];
    const staging = stagingOf(target.dir);
    await mkdir(staging, { mode: 0o700 });
    await rename(target.dir, join(staging, "filled"));
    const backup = await openBackup(file, { passphrase: PASSPHRASE, signal: new AbortController().signal });
    await backup.close();
    const note = { step: "placing", counts: {}, tokens: [], archives: [], parts: [], left_out: [] };
    const begun = (id: string) => writeFile(join(staging, "started"), JSON.stringify({ ...note, backup: id }));
    await begun("of another one");
    const half = [{ message: `The restore of another backup into ${target.dir} was cut off at its end.` }];
    expect(await result(target, check, "restore")).toMatchObject({ outcome: "blocked", obstacles: half });
    expect(await run(target, ["restore", file, ...flags])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Run it again with that backup."),
    });
    await begun(backup.manifest.id);
    expect(await result(target, check, "restore")).toMatchObject({ outcome: "possible", goes_on_at: "placing" });
    expect(await result(target, ["restore", file, ...flags], "restore")).toMatchObject({ goes_on_at: "placing" });
    expect((await run(target, ["memory", "stats"])).stdout).toMatch(/^messages +454/);
  });

  it("takes its passphrase from a pipe, and none that is short or missing", async () => {
    const { deployment, around, file } = await filled("embedded");
    const piped = spawn(process.execPath, [CAIRN, "backup", file, "--passphrase-file", "-", "--dir", deployment.dir], {
      env: environmentOf(deployment),
      stdio: ["pipe", "ignore", "ignore"],
    });
    piped.stdin?.end(`${PASSPHRASE}\r\nmore\n`);
    expect((await once(piped, "exit"))[0]).toBe(0);
    const short = join(around, "short");
    await writeFile(short, "seven77\n", { mode: 0o600 });
    expect(await run(deployment, ["backup", "--passphrase-file", short])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("fewer than 8 characters"),
    });
    expect(await run(deployment, ["backup"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Pass --passphrase-file FILE."),
    });
    const wrong = join(around, "wrong");
    await writeFile(wrong, "another passphrase\n", { mode: 0o600 });
    expect(await run(deployment, ["backup", "--verify", file, "--passphrase-file", wrong])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The passphrase does not open this backup."),
    });
  });
});

describe("a backup that is killed", () => {
  it("leaves no half file under its name, and nothing that the next one does not remove", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const work = join(deployment.home, "run", "backup");
    const steps: Record<string, () => Promise<boolean>> = {
      "has begun": async () => (await namesIn(join(deployment.home, "run"))).includes("backup"),
      "reads the memory": async () => (await namesIn(work)).some((name) => name.endsWith(".partial")),
      "has the memory": async () => (await namesIn(work)).includes("memory.backup"),
      seals: async () => (await namesIn(around)).some((name) => name.endsWith(".partial")),
      "has sealed": async () => {
        const [name] = (await namesIn(around)).filter((one) => one.endsWith(".partial"));
        return name !== undefined && ((await stat(join(around, name)).catch(() => null))?.size ?? 0) > 10_000;
      },
    };
    const argv = ["backup", file, "--passphrase-file", passphrase];
    for (const [step, isThere] of Object.entries(steps)) {
      expect(await killed(start(deployment, argv), isThere), step).toBe(true);
      expect(await namesIn(around), step).not.toContain("cairn.tar.age");
      // The short-lived node sees that its parent is gone.
      while ((await run(deployment, ["memory", "stats"])).code !== 0) await sleep(100);
    }
    expect(await run(deployment, argv)).toMatchObject({ code: 0 });
    expect(await readdir(around)).toEqual(["cairn.tar.age", "passphrase"]);
    expect(await namesIn(work)).toEqual([]);
    // What is there is replaced as a whole, or stays.
    const first = await readFile(file);
    expect(await run(deployment, argv)).toMatchObject({ code: 2, stderr: expect.stringContaining("--force") });
    await killed(start(deployment, [...argv, "--force"]), steps["seals"] ?? (async () => true));
    expect(await readFile(file)).toEqual(first);
  });
});

describe("a restore that is killed", () => {
  it.each(BACKENDS)("leaves what was there, and goes on (%s)", async (backend) => {
    const { deployment, store, around, passphrase, file } = await filled(backend);
    const before = await rowsOf(store);
    const flags = ["--passphrase-file", passphrase];
    await result(deployment, ["backup", file, ...flags], "backup");
    await emptied(store);
    const target = another(around);
    const staging = stagingOf(target.dir);
    const client = new Client({ connectionString: store });
    if (backend === "postgres") {
      await client.connect();
      client.on("error", () => undefined);
      ends.push(() => client.end());
    }
    const note = (): Promise<string> => readFile(join(staging, "started"), "utf8").catch(() => "");
    const steps: Record<string, () => Promise<boolean>> = {
      "has begun": async () => (await namesIn(around)).includes(".restored.cairn-restore"),
      unpacks: async () => (await namesIn(staging)).includes("memory.backup"),
      "has unpacked": async () => (await namesIn(join(staging, "filled"))).includes("cairn.yaml"),
      "restores the memory": async () => (await note()).includes('"memory"'),
      ...(backend === "postgres"
        ? {
            "has restored the memory": async () => {
              const there = await client.query("select to_regclass('messages') is not null as there");
              if (there.rows[0]?.there !== true) return false;
              return (await client.query("select exists (select 1 from messages) as full")).rows[0]?.full === true;
            },
          }
        : {}),
      "is about to give the name": async () => (await note()).includes('"placing"'),
    };
    const argv = ["restore", file, ...flags];
    for (const [step, isThere] of Object.entries(steps)) {
      const inTime = await killed(start(target, argv), isThere);
      // From the last step to the end there is hardly any time.
      if (step !== "is about to give the name") expect(inTime, step).toBe(true);
      const names = await namesIn(target.dir);
      // All of it or nothing.
      if (names.length > 0) expect(names, step).toContain("cairn.yaml");
      expect((await lstat(staging).catch(() => null))?.mode ?? 0o700, step).toSatisfy(
        (mode: number) => (mode & 0o077) === 0,
      );
      if (names.length > 0) continue;
      const checked = await result<RestoreResult>(target, ["restore", file, "--check", ...flags], "restore");
      expect(checked, step).toMatchObject({ outcome: "possible", obstacles: [] });
      if (step.startsWith("has restored")) expect(checked.goes_on_at).toBe("memory");
      if (step.startsWith("is about")) expect(checked.goes_on_at).toBe("placing");
    }
    const isNamed = (await namesIn(around)).includes("restored");
    if (isNamed) expect(await namesIn(staging)).not.toContain("memory.backup");
    // Between the last rename and its end it has nothing left to go on with.
    const isDone = isNamed && (await note()) === "";
    expect(await run(target, argv)).toMatchObject(
      isDone ? { code: 1, stderr: expect.stringContaining(`${target.dir} is not empty`) } : { code: 0 },
    );
    expect((await namesIn(around)).sort()).toEqual(["cairn.tar.age", "passphrase", "restored"]);
    expect(await rowsOf(backend === "postgres" ? store : join(target.home, "store"))).toEqual(before);
    expect((await run(target, ["memory", "stats"])).stdout).toMatch(/^messages +454/);
  });
});

describe("a restore", () => {
  it("refuses what would be in the way, and changes nothing", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const flags = ["--passphrase-file", passphrase];
    await result(deployment, ["backup", file, ...flags], "backup");
    const target = another(around);
    await mkdir(target.dir);
    await writeFile(join(target.dir, "mine.txt"), "mine");
    const refused = { code: 1, stderr: expect.stringContaining(`${target.dir} is not empty: it has mine.txt.`) };
    expect(await run(target, ["restore", file, ...flags])).toMatchObject(refused);
    expect(await readdir(target.dir)).toEqual(["mine.txt"]);
    expect((await readdir(around)).sort()).toEqual(["cairn.tar.age", "passphrase", "restored"]);

    const node = await startNode(deployment);
    expect(await run(deployment, ["restore", file, ...flags])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The node is running"),
    });
    node.signal("SIGTERM");
    await node.exited;

    const empty = another(around, "empty");
    await mkdir(empty.dir);
    expect(await run(empty, ["restore", file, ...flags])).toMatchObject({ code: 0 });
    expect(await readdir(empty.dir)).toContain("cairn.yaml");
  });

  it("names a damaged file in one sentence, and leaves nothing", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const flags = ["--passphrase-file", passphrase];
    await result(deployment, ["backup", file, ...flags], "backup");
    const whole = await readFile(file);
    const target = another(around);
    const flipped = Buffer.from(whole);
    flipped[whole.length - 5_000] = (flipped[whole.length - 5_000] ?? 0) ^ 1;
    for (const bytes of [whole.subarray(0, whole.length - 1), flipped]) {
      await writeFile(file, bytes);
      expect(await run(target, ["restore", file, ...flags])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("The backup cannot be used: it is cut off or was altered."),
      });
      expect((await readdir(around)).sort()).toEqual(["cairn.tar.age", "passphrase"]);
    }
  });

  it("brings back a store whose absolute path leads into the directory", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const flags = ["--passphrase-file", passphrase];
    const yaml = join(deployment.dir, "cairn.yaml");
    const store = join(deployment.dir, "kept", "store");
    await mkdir(dirname(store));
    await cp(join(deployment.home, "store"), store, { recursive: true });
    await writeFile(
      yaml,
      (await readFile(yaml, "utf8")).replace("memory: {}", `memory: { embedded: { path: ${store} } }`),
    );
    await result(deployment, ["backup", file, ...flags], "backup");
    await rename(deployment.dir, join(around, "lost"));
    await result(deployment, ["restore", file, ...flags], "restore");
    expect((await run(deployment, ["memory", "stats"])).stdout).toMatch(/^messages +454/);
    expect((await readdir(dirname(store))).sort()).toEqual(["store"]);
  });

  it("of the memory alone can be tried before", async () => {
    const { deployment, around } = await filled("embedded");
    const archive = join(around, "memory.backup");
    await run(deployment, ["memory", "backup", archive]);
    const full = await run(deployment, ["memory", "restore", archive, "--check", "--json"]);
    expect(full.code).toBe(1);
    const said = JSON.parse(full.stdout);
    expect(wrongWith("memory-restore", said)).toBeNull();
    expect(said).toMatchObject({
      counts: { messages: 454 },
      check: { obstacles: [{ message: "The memory is not empty: 454 messages are in it." }] },
    });
    const { dir, home } = another(around, "new");
    await mkdir(home, { recursive: true });
    await cp(join(deployment.dir, "cairn.yaml"), join(dir, "cairn.yaml"));
    const empty = await run({ dir, home }, ["memory", "restore", archive, "--check"]);
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing is in the way.") });
    expect(await readdir(home)).toEqual([]);
    await writeFile(archive, (await readFile(archive)).subarray(0, 2_000));
    expect(await run({ dir, home }, ["memory", "restore", archive, "--check"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The archive cannot be used: it is cut off or altered."),
    });
  });
});

describe("the lines of docs/backup.md", () => {
  it("for cron and systemd make a file, and replace it", async () => {
    const { deployment, around, passphrase } = await filled("embedded");
    const page = await readFile(join(ROOT, "docs", "backup.md"), "utf8");
    const cron = /^30 3 \* \* \* (.*)$/m.exec(page)?.[1]?.replaceAll("\\%", "%");
    const systemd = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(page)?.[1]?.replaceAll("%%", "%");
    const bin = join(around, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "cairn"), `#!/bin/sh\nexec ${process.execPath} ${CAIRN} "$@"\n`, { mode: 0o755 });
    const disk = join(around, "disk");
    await mkdir(disk);
    for (const line of [cron, systemd]) {
      const command = (line ?? "false").replace("/mnt/disk", disk).replace("~/.cairn-passphrase", passphrase);
      const { PATH = "" } = process.env;
      const env = { ...environmentOf(deployment), PATH: `${bin}:${PATH}` };
      await promisify(execFile)("/bin/sh", ["-c", command], { env, cwd: deployment.dir });
      expect(await readdir(disk)).toEqual([expect.stringMatching(/^cairn-[1-7]\.tar\.age$/)]);
    }
  });
});

// Only root may make a small disk.
describe.skipIf(lacks("root"))("a full disk", () => {
  it("ends a backup and a restore with one sentence, and nothing is left on it", async () => {
    const { deployment, around, passphrase, file } = await filled("embedded");
    const flags = ["--passphrase-file", passphrase];
    await writeFile(join(deployment.workspace, "large"), Buffer.alloc(4 * 1024 ** 2, 1));
    await result(deployment, ["backup", file, ...flags], "backup");
    const small = join(around, "small");
    await mkdir(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", small]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", small]));
    const full = { code: 1, stderr: expect.stringContaining("ENOSPC") };
    expect(await run(deployment, ["backup", join(small, "a.tar.age"), ...flags])).toMatchObject(full);
    expect(await run(another(small), ["restore", file, ...flags])).toMatchObject(full);
    expect(await readdir(small)).toEqual([]);
    expect(await result(another(small), ["restore", file, "--check", ...flags], "restore")).toMatchObject({
      obstacles: [{ message: expect.stringContaining("free, and") }],
    });
    // Each disk for what goes there: now the home is what is large, and lies on the small one.
    await rename(join(deployment.workspace, "large"), join(deployment.home, "spool", "large"));
    await result(deployment, ["backup", file, "--force", ...flags], "backup");
    const apart = { dir: join(around, "apart"), home: join(small, "home") };
    const lacking = await result<RestoreResult>(apart, ["restore", file, "--check", ...flags], "restore");
    expect(lacking.obstacles).toEqual([
      { message: expect.stringContaining(`The disk of ${small} has `), hint: expect.stringContaining("SERVICE_HOME") },
    ]);
    await writeFile(join(deployment.workspace, "large"), Buffer.alloc(4 * 1024 ** 2, 1));
    await rename(join(deployment.home, "spool", "large"), join(around, "large"));
    await result(deployment, ["backup", file, "--force", ...flags], "backup");
    expect(await result(apart, ["restore", file, "--check", ...flags], "restore")).toMatchObject({ obstacles: [] });
  });
});
