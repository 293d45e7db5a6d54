/** What can be wrong with a stack's state, its locks and its tools, on a real engine: each is said, and what helps with it. */

import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { recover } from "../../../control/deploy/operations/recover.ts";
import { roll } from "../../../control/deploy/operations/roll/roll.ts";
import { unlock } from "../../../control/deploy/operations/unlock.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { KEPT_COPIES } from "../../../control/deploy/state/copies.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { lacks } from "../../lanes/tools.ts";
import { infraRun, writeProject } from "../../support/infra-project.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const ROLL = { image: undefined, adopt: false, yes: true, onFailure: "rollback" } as const;
const DESTROY = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined } as const;
const UNLOCK = { force: undefined, restoreState: false, copy: undefined } as const;
const SHAPE = { stack: "lab", nodes: ["one"], postgres: false } as const;

let base: string;
let dir: string;
let plugins: StubPlugins;

const run = (at: string = dir) => infraRun({ dir: at, home: join(base, "home"), target: { plugins } });
const state = (at: string = dir) => join(at, "infra/state/.pulumi/stacks/cairn/lab.json");
/** A copy of the deployed directory, so that one test's damage is not the next one's. */
const copyOf = (name: string): string => {
  const at = join(base, name);
  cpSync(dir, at, { recursive: true, verbatimSymlinks: true });
  return at;
};

describe("a deployed stack", { concurrent: false }, () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "cairn-state-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}${delimiter}${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.fault({});
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("that fails in the middle says which resource and why, and the same command finishes it", async () => {
    writeProject(dir, SHAPE);
    plugins.fault({
      at: { "create lab-one": { kind: "fail", message: "driver failed programming external connectivity" } },
    });
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: "lab-one: driver failed programming external connectivity.",
    });
    plugins.fault({});
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
  });

  it("whose state is cut in half gets its newest copy back", async () => {
    const at = copyOf("half");
    truncateSync(state(at), 700);
    const [newest = ""] = readdirSync(join(at, "infra/state-copies"))
      .filter((name) => name.endsWith(".json"))
      .sort()
      .reverse();
    const name = newest.replace(/\.json$/, "");
    await expect(up(run(at), UP)).rejects.toMatchObject({
      code: "INFRA_STATE_UNREADABLE",
      details: { hint: expect.stringContaining(name) },
    });
    expect(await unlock(run(at), { ...UNLOCK, restoreState: true })).toMatchObject({ restored: name });
    expect((await preview(run(at))).changes).toEqual([]);
    // The damaged file is kept, in case the copy is older than what was in it.
    expect(readdirSync(dirname(state(at))).some((file) => file.includes("unreadable"))).toBe(true);
  });

  it("whose state is cut in half before there was a copy is deployed anew by the command that is named", async () => {
    const at = copyOf("first");
    truncateSync(state(at), 700);
    rmSync(join(at, "infra/state-copies"), { recursive: true });
    const named = {
      code: "INFRA_STATE_UNREADABLE",
      details: { hint: expect.stringContaining("`cairn infra recover`") },
    };
    await expect(up(run(at), UP)).rejects.toMatchObject(named);
    await expect(unlock(run(at), { ...UNLOCK, restoreState: true })).rejects.toMatchObject(named);
    expect(await recover(run(at), { confirm: "lab" })).toMatchObject({ healthy: true });
    expect((await preview(run(at))).changes).toEqual([]);
  });

  it("has a copy of its state for each change, and the oldest ones go", async () => {
    const at = copyOf("copies");
    const folder = join(at, "infra/state-copies");
    const [one = ""] = readdirSync(folder).filter((file) => file.endsWith(".json"));
    for (let day = 1; day < 29; day++) {
      cpSync(join(folder, one), join(folder, `2020-01-${String(day).padStart(2, "0")}T00-00-00-000Z-after-up.json`));
    }
    writeProject(at, { ...SHAPE, memory: "600Mi" });
    await up(run(at), UP);
    const remaining = readdirSync(folder).filter((file) => file.endsWith(".json"));
    expect(remaining).toHaveLength(KEPT_COPIES);
    expect(remaining).toContain(one);
    expect(remaining.filter((file) => file.endsWith("before-up.json")).length).toBeGreaterThan(0);
    expect(JSON.parse(readFileSync(join(folder, one), "utf8"))).toMatchObject({ version: 3, deployment: {} });
  });

  it("whose passphrase is gone or another one says what is lost and what is not", async () => {
    const at = copyOf("passphrase");
    const file = join(at, "infra/.passphrase");
    const kept = readFileSync(file, "utf8");
    const lost = { code: "INFRA_PASSPHRASE_LOST", details: { hint: expect.stringMatching(/infra recover.*volumes/) } };
    rmSync(file);
    await expect(up(run(at), UP)).rejects.toMatchObject({ ...lost, message: expect.stringContaining("is absent") });
    // A new one would make the loss final.
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, "another one\n", { mode: 0o600 });
    const another = { ...lost, message: expect.stringContaining("another passphrase") };
    await expect(preview(run(at))).rejects.toMatchObject(another);
    writeFileSync(file, kept, { mode: 0o600 });
    expect((await preview(run(at))).changes).toEqual([]);
  });

  it("whose passphrase is lost for good is deployed anew over its data by one command", async () => {
    const at = copyOf("recover");
    rmSync(join(at, "infra/.passphrase"));
    const before = plugins.resources();
    await expect(recover(run(at), { confirm: undefined })).rejects.toThrow(/name cannot be asked for/);
    await expect(recover(run(at), { confirm: "prod" })).rejects.toThrow(/not the stack's name/);
    expect(plugins.resources()).toEqual(before);

    // Cut off once everything is put aside: the same command goes on.
    const cut = { createDriver: () => Promise.reject(new Error("the target is gone")) };
    const failing = infraRun({ dir: at, home: join(base, "home"), target: { plugins }, services: cut });
    await expect(recover(failing, { confirm: "lab" })).rejects.toThrow("the target is gone");
    const recovered = await recover(run(at), { confirm: "lab" });
    expect(recovered).toMatchObject({ healthy: true, adopted: ["lab-one-home", "lab-one-workspace"] });
    expect(recovered.removed).toContain("lab-one");
    expect((await preview(run(at))).changes).toEqual([]);

    const lost = join(at, "infra/lost");
    expect(readFileSync(join(lost, ".gitignore"), "utf8")).toBe("*\n");
    const [first = ""] = readdirSync(lost)
      .filter((name) => name !== ".gitignore")
      .sort();
    expect(readdirSync(join(lost, first)).sort()).toEqual(["Pulumi.lab.yaml", "deployed", "stack.json", "state"]);
  });

  it("is not recovered while an engine is at work, or where another backend keeps the state", async () => {
    const at = copyOf("busy");
    const folder = join(at, "infra/state/.pulumi/locks/organization/cairn/lab");
    mkdirSync(folder, { recursive: true });
    const lock = { pid: process.pid, username: "ada", hostname: hostname(), timestamp: "2030-01-31T12:00:00Z" };
    writeFileSync(join(folder, "0a1b.json"), JSON.stringify(lock));
    await expect(recover(run(at), { confirm: "lab" })).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    rmSync(folder, { recursive: true });
    rmSync(join(at, "infra/stack.json"));
    const elsewhere = { ...run(at), backend: `file://${join(base, "shared-state")}` };
    await expect(recover(elsewhere, { confirm: "lab" })).rejects.toMatchObject({
      details: { hint: expect.stringContaining("pulumi stack rm --force --preserve-config lab") },
    });
    expect(existsSync(state(at))).toBe(true);
  });

  it("whose data an earlier stack left is not overwritten, and taken over when asked to", async () => {
    const at = copyOf("adopt");
    for (const name of ["state", "state-copies"]) rmSync(join(at, "infra", name), { recursive: true });
    for (const name of ["Pulumi.lab.yaml", "stack.json", ".passphrase"]) rmSync(join(at, "infra", name));
    await expect(up(run(at), UP)).rejects.toMatchObject({
      code: "INFRA_DATA_EXISTS",
      message: expect.stringContaining("lab-one-home, lab-one-workspace"),
    });
    const used = infraRun({ dir: at, home: join(base, "home"), target: { plugins, usedBy: ["old-one"] } });
    // Two programs on the same data ruin them, whoever agreed to take them over.
    await expect(up(used, { ...UP, adopt: true })).rejects.toMatchObject({
      code: "INFRA_DATA_EXISTS",
      message: expect.stringMatching(/in use: lab-one-home, lab-one-workspace, by old-one/),
      details: { hint: expect.stringContaining("Stop old-one") },
    });
    const shown = await preview(run(at));
    expect(shown.warnings.map(({ code }) => code)).toEqual(["INFRA_DATA_EXISTS", "INFRA_DATA_EXISTS"]);
    expect(shown.changes.filter(({ op }) => op === "import").map(({ name }) => name)).toEqual([
      "lab-one-home",
      "lab-one-workspace",
    ]);
  });

  it("whose settings of the engine are damaged says which file it is", async () => {
    const at = copyOf("settings");
    const file = join(at, "infra/Pulumi.yaml");
    writeFileSync(file, "backend: {url: [\n");
    await expect(preview(run(at))).rejects.toMatchObject({
      code: "INFRA_STATE_UNREADABLE",
      message: expect.stringContaining(file),
    });
    rmSync(file);
    expect((await preview(run(at))).changes).toEqual([]);
  });

  it("that the engine of another host has locked names that host, and is taken from it by the stack's name alone", async () => {
    const at = copyOf("elsewhere");
    const folder = join(at, "infra/state/.pulumi/locks/organization/cairn/lab");
    mkdirSync(folder, { recursive: true });
    const lock = { pid: 4711, username: "ada", hostname: "far-away", timestamp: "2030-01-31T12:00:00Z" };
    writeFileSync(join(folder, "0a1b.json"), JSON.stringify(lock));
    await expect(up(run(at), UP)).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: expect.stringContaining("ada@far-away (process 4711"),
    });
    await expect(unlock(run(at), UNLOCK)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await expect(unlock(run(at), { ...UNLOCK, force: "prod" })).rejects.toThrow(/not the stack's name/);
    const unlocked = await unlock(run(at), { ...UNLOCK, force: "lab" });
    expect(unlocked.cleared).toEqual([expect.objectContaining({ user: "ada", host: "far-away" })]);
    expect(readdirSync(folder).filter((file) => file.endsWith(".json"))).toEqual([]);
  });

  it("without a plugin of its provider, or without an engine, says what to install", async () => {
    const engine =
      (process.env["PATH"] ?? "").split(delimiter).find((folder) => existsSync(join(folder, "pulumi"))) ?? "";
    const node = dirname(process.execPath);
    vi.stubEnv("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "true");
    vi.stubEnv("PULUMI_HOME", join(base, "empty"));
    vi.stubEnv("PATH", [engine, node, "/usr/bin", "/bin"].join(delimiter));
    const at = copyOf("plugin");
    writeProject(at, { ...SHAPE, memory: "600Mi" });
    await expect(preview(run(at))).rejects.toMatchObject({
      code: "INFRA_TOOL_MISSING",
      message: expect.stringContaining("docker"),
      details: { hint: expect.stringContaining("pulumi plugin install resource docker") },
    });
  });

  // Only root may make a small disk.
  describe.skipIf(lacks("root"))("on a disk that is full", () => {
    const disks: string[] = [];
    afterEach(() => {
      for (const disk of disks.splice(0)) execFileSync("umount", ["--lazy", disk]);
    });
    /** The deployed directory, once more, with this folder of it on a disk of 24 MiB, and a change to be made. */
    const onSmallDisk = (name: string, folder: string): { at: string; filler: string } => {
      const at = join(base, name);
      const disk = join(at, folder);
      mkdirSync(disk, { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", disk]);
      disks.push(disk);
      cpSync(dir, at, { recursive: true, verbatimSymlinks: true });
      writeProject(at, { ...SHAPE, memory: "600Mi" });
      return { at, filler: join(disk, "filler") };
    };

    it.each([
      { where: "the directory", folder: ".", room: 0 },
      { where: "the directory, but for two states", folder: ".", room: 100_000 },
      { where: "the engine's state", folder: "infra/state", room: 0 },
    ])("($where) changes nothing, and goes on by the same command", async ({ where, folder, room }) => {
      const { at, filler } = onSmallDisk(where.replaceAll(/\W+/g, "-"), folder);
      const before = readFileSync(state(at));
      fill(filler, room);
      const refusal = { code: "INFRA_DISK_FULL", details: { hint: expect.stringContaining("nothing was changed") } };
      await expect(up(run(at), UP)).rejects.toMatchObject(refusal);
      await expect(roll(run(at), ROLL)).rejects.toMatchObject(refusal);
      await expect(destroy(run(at), DESTROY)).rejects.toMatchObject(refusal);
      await expect(recover(run(at), { confirm: "lab" })).rejects.toMatchObject(refusal);
      expect(readFileSync(state(at)).equals(before)).toBe(true);
      rmSync(filler);
      expect(await up(run(at), UP)).toMatchObject({ healthy: true });
    });

    it("in the middle of an `up` says so, and goes on by the commands that it names", async () => {
      const { at, filler } = onSmallDisk("midway", ".");
      const filling = {
        ...run(at),
        onEvent: ({ event }: { event: string }) => {
          if (event === "resource") fill(filler, 0);
        },
      };
      const error = await up(filling, UP).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "INFRA_DISK_FULL" });
      const hint = error instanceof InfraError ? (error.details.hint ?? "") : "";
      rmSync(filler);
      if (hint.includes("infra unlock")) {
        await unlock(run(at), { ...UNLOCK, restoreState: hint.includes("--restore-state") });
      }
      expect(await up(run(at), { ...UP, adopt: hint.includes("--adopt") }), hint).toMatchObject({ healthy: true });
    });

    it.each([0, 1, 2, 4, 8].map((pages) => ({ pages })))(
      "at the engine's very first record ($pages pages left) says so, and goes on by the same command",
      async ({ pages }) => {
        const at = join(base, `first-record-${pages}`);
        const disk = join(at, "infra/state");
        mkdirSync(disk, { recursive: true });
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", disk]);
        disks.push(disk);
        writeProject(at, { ...SHAPE, stack: `first${pages}`, network: `first${pages}` });
        const filler = join(disk, "filler");
        const filling = {
          ...run(at),
          onEvent: (event: { event: string; phase?: string }) => {
            if (event.phase === "inspect") fill(filler, pages * 4096);
          },
        };
        // The stubs have data of other cases; these leave some, so no other follows.
        const adopting = { ...UP, adopt: true };
        const error = await up(filling, adopting).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({
          code: "INFRA_DISK_FULL",
          details: { hint: expect.stringContaining("same command") },
        });
        rmSync(filler);
        expect(await up(run(at), adopting)).toMatchObject({ healthy: true });
      },
    );
  });
});

/** Writes until nothing fits any more, then gives so many bytes back. */
function fill(file: string, room: number): void {
  try {
    for (;;) appendFileSync(file, Buffer.alloc(4096));
  } catch {
    truncateSync(file, statSync(file).size - room);
  }
}
