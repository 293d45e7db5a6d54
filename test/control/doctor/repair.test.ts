import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Check } from "../../../control/doctor/checks/check.ts";
import { configKeys } from "../../../control/doctor/checks/config/keys.ts";
import { workspaceFiles } from "../../../control/doctor/checks/workspace/files.ts";
import { examine, examineAndFix } from "../../../control/doctor/doctor.ts";
import { applyRepairs } from "../../../control/doctor/repair/apply.ts";
import { describeRepair, lineDiff } from "../../../control/doctor/repair/diff.ts";
import { renameKey } from "../../../control/doctor/repair/rename-keys.ts";
import type { Planned, Repair } from "../../../control/doctor/repair/repair.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { MINIMAL, temporaryDirectory } from "../../support/deployment.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace } from "../../support/planted-files.ts";
import { NO_TOOLS, type ProbeContextSpec, probeContextWith, ROOT, VERSION } from "./probe-context.ts";

const signal = new AbortController().signal;

describe("a repair", () => {
  it("changes a mode and nothing else", async () => {
    const path = await file("secret", 0o644);
    expect(await apply({ kind: "mode", path, from: 0o644, to: 0o600 })).toMatchObject([
      { outcome: "done", backup: null },
    ]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toBe("secret");
  });

  it("makes a copy of a file before it changes it, as private as the file, and never over another copy", async () => {
    const path = await file("old", 0o600);
    await writeFile(`${path}.bak`, "somebody's own");
    expect(await apply({ kind: "change", path, before: "old", after: "new" })).toMatchObject([
      { outcome: "done", backup: `${path}.bak-2` },
    ]);
    expect(await readFile(path, "utf8")).toBe("new");
    expect(await readFile(`${path}.bak`, "utf8")).toBe("somebody's own");
    expect(await readFile(`${path}.bak-2`, "utf8")).toBe("old");
    for (const name of [path, `${path}.bak-2`]) expect((await stat(name)).mode & 0o777).toBe(0o600);
  });

  it("leaves a link a link", async () => {
    const path = await file("old");
    await symlink(path, `${path}.link`);
    await apply({ kind: "change", path: `${path}.link`, before: "old", after: "new" });
    expect(await readFile(path, "utf8")).toBe("new");
  });

  it("does not touch what was changed since it was looked at", async () => {
    const path = await file("edited by somebody");
    const done = await apply(
      { kind: "change", path, before: "old", after: "new" },
      { kind: "create", path, after: "new", mode: 0o644 },
      { kind: "mode", path, from: 0o777, to: 0o600 },
    );
    expect(done.map(({ outcome }) => outcome)).toEqual(["failed", "failed", "failed"]);
    expect(done[0]?.error).toContain("look again");
    expect(await readFile(path, "utf8")).toBe("edited by somebody");
    expect(await readdir(join(path, ".."))).toHaveLength(1);
  });

  it("that fails stops no other", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "file"), "");
    const done = await apply(
      { kind: "directory", path: join(directory, "file", "below"), mode: 0o755 },
      { kind: "directory", path: join(directory, "fine"), mode: 0o755 },
    );
    expect(done.map(({ outcome }) => outcome)).toEqual(["failed", "done"]);
    expect((await stat(join(directory, "fine"))).isDirectory()).toBe(true);
  });

  it.each(["backed-up", "repaired"])(
    "that is killed (%s) leaves each file as it was or as it should be",
    async (at) => {
      for (const kill of [0, 1, 2]) {
        const directory = await temporaryDirectory();
        const repairs: Repair[] = [];
        for (const name of ["a", "b", "c"]) {
          await writeFile(join(directory, name), `old ${name}`);
          repairs.push({ kind: "change", path: join(directory, name), before: `old ${name}`, after: `new ${name}` });
        }
        const child = spawn(
          process.execPath,
          [fileURLToPath(new URL("./killed-repair.ts", import.meta.url)), JSON.stringify(repairs), at, String(kill)],
          { stdio: "inherit" },
        );
        expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
        const texts = await Promise.all(["a", "b", "c"].map((name) => readFile(join(directory, name), "utf8")));
        const done = at === "repaired" ? kill + 1 : kill;
        expect(texts).toEqual(["a", "b", "c"].map((name, index) => `${index < done ? "new" : "old"} ${name}`));
        const copies = (await readdir(directory)).filter((name) => name.endsWith(".bak"));
        expect(copies).toHaveLength(kill + 1);

        // The next one finds the rest, and does it.
        const rest = repairs.slice(done);
        expect((await apply(...rest)).every(({ outcome }) => outcome === "done")).toBe(true);
      }
    },
  );
});

describe("a repair where agents write", () => {
  it.each(Object.keys(PLANTS))("takes %s for no core file, and neither reads nor writes through it", async (kind) => {
    const paths = await plantedPlace();
    const context = await probeContextWith({ yaml: `${MINIMAL}runtime: { workspace: "${paths.workspace}" }\n` });
    await PLANTS[kind]?.(join(paths.workspace, "USER.md"), paths);
    const outcome = await workspaceFiles.run(context, signal);
    expect(outcome).toMatchObject({ status: "warn", message: expect.stringContaining("lacks CORE.md, WORKSPACE.md") });
    // How large it is is seen at the turn.
    if (kind !== "a sparse file of 10 GB")
      expect(JSON.stringify(outcome)).toMatch(/Agents do not get USER\.md.*USER\.md: it (is|has)/);
    const repairs = outcome.status === "warn" ? (outcome.repairs ?? []) : [];
    expect(repairs.map(({ path }) => path)).not.toContain(join(paths.workspace, "USER.md"));
    // Put there after it was looked at.
    await PLANTS[kind]?.(join(paths.workspace, "CORE.md"), paths).catch(() => undefined);
    const done = await apply(...repairs);
    expect(done.map(({ outcome: result }) => result)).toEqual(["failed", "done", "done"]);
    expect(JSON.stringify([outcome, done])).not.toContain(PLANTED_SECRET);
    expect(await readFile(join(paths.outside, "secret.md"), "utf8")).toBe(PLANTED_SECRET);
    expect(await readdir(paths.outside)).toEqual(["secret.md"]);
  });

  it.each(Object.keys(PLANTS))("keeps no copy of what %s leads to", async (kind) => {
    const paths = await plantedPlace();
    const path = join(paths.workspace, ".gitignore");
    await PLANTS[kind]?.(path, paths);
    const change = { kind: "change", path, root: paths.workspace, before: PLANTED_SECRET, after: "new" } as const;
    expect(await apply(change)).toMatchObject([{ outcome: "failed", backup: null }]);
    expect((await readdir(paths.workspace)).filter((name) => name.includes("bak"))).toEqual([]);
    expect(await readFile(join(paths.outside, "secret.md"), "utf8")).toBe(PLANTED_SECRET);
  });

  it("changes a file of its own there, with a copy", async () => {
    const { workspace: root } = await plantedPlace();
    const path = join(root, ".gitignore");
    await writeFile(path, "old");
    expect(await apply({ kind: "change", path, root, before: "old", after: "new" })).toMatchObject([
      { outcome: "done", backup: `${path}.bak` },
    ]);
    expect([await readFile(path, "utf8"), await readFile(`${path}.bak`, "utf8")]).toEqual(["new", "old"]);
  });
});

describe("misspelt keys", () => {
  const YAML = `# head
version: 1
runtime:   # the node
  lisen: 127.0.0.1:7433   # here
  "timezon": 'Europe/Berlin'
agents:
  main: {defualt_thinking: low}  # one line
providers:
  offline: {}
unheard_of_key: 7
`;

  it("are renamed where they stand: comments, quotes and order stay", async () => {
    const outcome = await configKeys.run(await probeContextWith({ yaml: YAML }), signal);
    const [repair] = outcome.status === "warn" ? (outcome.repairs ?? []) : [];
    expect(repair).toMatchObject({ kind: "change", before: YAML });
    expect(repair?.kind === "change" && repair.after).toBe(
      YAML.replace("lisen", "listen").replace('"timezon"', "timezone").replace("defualt_thinking", "default_thinking"),
    );
  });

  it("stay where the right one is there, or where the value would then be wrong", async () => {
    const yaml = `${MINIMAL}runtime:\n  listen: 127.0.0.1:7433\n  lisen: 127.0.0.1:1\n  timezon: Nowhere/Land\n`;
    const outcome = await configKeys.run(await probeContextWith({ yaml }), signal);
    expect(outcome).toMatchObject({ status: "warn", fix: "Correct the keys, or remove them." });
    expect(outcome).not.toHaveProperty("repairs");
  });

  it("never make a second key of a name", () => {
    expect(renameKey("a: { lisen: 1, listen: 2 }\n", ["a", "lisen"], "listen")).toBeNull();
    expect(renameKey("a: { lisen: 1 }\n", ["a", "lisen"], "listen")).toBe("a: { listen: 1 }\n");
  });

  it("are not searched behind an alias", () => {
    expect(renameKey("a: &x\n  lisen: 1\nb: *x\n", ["b", "lisen"], "listen")).toBeNull();
  });
});

describe("a diff", () => {
  it("says all that goes and all that comes, for any two texts", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = lineDiff(before, after);
        const of = (kind: string) => diff.filter((line) => line.kind === kind).map(({ text }) => text);
        const kept = before.length - of("gone").length;
        // What neither went nor came is the same in both.
        expect(kept).toBe(after.length - of("new").length);
        expect(isWithin(of("gone"), before) && isWithin(of("new"), after)).toBe(true);
        if (JSON.stringify(before) === JSON.stringify(after)) expect(diff).toEqual([]);
      }),
    );
  });

  it("shows two lines around", () => {
    const before = ["1", "2", "3", "4", "5", "6", "7"];
    const after = before.map((line) => (line === "4" ? "four" : line));
    expect(lineDiff(before, after).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "same 2",
      "same 3",
      "gone 4",
      "new four",
      "same 5",
      "same 6",
    ]);
    expect(describeRepair({ kind: "mode", path: "/x", from: 0o644, to: 0o600 }).map(({ text }) => text)).toEqual([
      "mode of /x",
      "0644",
      "0600",
    ]);
  });
});

describe("examining and fixing", () => {
  it("puts right what it can, one by one, and looks again", async () => {
    const input = await deployment({
      yaml: `${MINIMAL}runtime:\n  timezon: UTC # comment\n`,
      env: "SERVICE_API_TOKEN=long-enough-for-a-token\n",
      mode: 0o644,
    });
    await mkdir(join(input.flags.dir, "home"), { mode: 0o755 });
    await chmod(join(input.flags.dir, "home"), 0o755);
    const shown: string[] = [];
    const { report } = await examineAndFix(input, {
      confirm: async (diff) => {
        shown.push(...diff.map(({ text }) => text));
        return true;
      },
    });
    expect(shown).toContain("  timezone: UTC # comment");
    expect(report.repairs?.map(({ check, action, outcome }) => `${check} ${action} ${outcome}`)).toEqual([
      "system.home mode done",
      "config.keys change done",
      "secrets.file mode done",
      "workspace.exists directory done",
      ...Array.from({ length: 4 }, () => "workspace.exists create done"),
    ]);
    const repaired = ["system.home", "config.keys", "secrets.file", "workspace.exists", "workspace.files"];
    const after = report.checks.filter(({ id }) => repaired.includes(id));
    expect(after.map(({ status }) => status)).toEqual(repaired.map(() => "pass"));
    expect(await readFile(join(input.flags.dir, "cairn.yaml"), "utf8")).toContain("  timezone: UTC # comment\n");
    expect((await stat(join(input.flags.dir, ".env"))).mode & 0o777).toBe(0o600);
  });

  it("changes nothing when it may not", async () => {
    const input = await deployment({ env: "A=b\n", mode: 0o644 });
    const { report } = await examineAndFix(input, { confirm: async () => false });
    expect(report.repairs).toEqual([]);
    expect(report.checks.find(({ id }) => id === "secrets.file")).toMatchObject({ status: "warn" });
    expect(await readdir(input.flags.dir)).toEqual([".env", "cairn.yaml"]);
  });

  it("leaves a newer configuration alone", async () => {
    const text = "version: 99\nruntime: { lisen: 127.0.0.1:1 }\n";
    const input = await deployment({ yaml: text });
    await examineAndFix(input, { confirm: async () => true });
    expect(await readFile(join(input.flags.dir, "cairn.yaml"), "utf8")).toBe(text);
  });

  it("asks nothing when there is nothing to repair", async () => {
    const input = await deployment({});
    const { report } = await examineAndFix(
      { ...input, only: ["system.node"] },
      { confirm: () => expect.unreachable() },
    );
    expect(report.repairs).toEqual([]);
  });

  it("does once what two checks ask for", async () => {
    const input = await deployment({});
    const path = join(input.flags.dir, "new");
    const wants = (id: Check["id"]): Check => ({
      id,
      subject: "something",
      run: async () => ({
        status: "warn",
        message: "m",
        fix: "f",
        repairs: [{ kind: "directory", path, mode: 0o755 }],
      }),
    });
    const checks = [wants("system.one"), wants("system.two")];
    const { report } = await examineAndFix({ ...input, checks }, { confirm: async (_diff, count) => count === 1 });
    expect(report.repairs).toMatchObject([{ check: "system.one", outcome: "done" }]);
  });

  it("shows no secret in the diff", async () => {
    const yaml = `version: 1\nagents: { main: {} }\nproviders:\n  offline:\n    api_key: very-secret-value\n    modle: x\n`;
    const shown: string[] = [];
    await examineAndFix(await deployment({ yaml }), {
      confirm: async (diff) => {
        shown.push(...diff.map(({ text }) => text));
        return false;
      },
    });
    expect(shown.join("\n")).toContain("model: x");
    expect(shown.join("\n")).not.toContain("very-secret-value");
  });

  it("without --fix changes nothing, not even a mode", async () => {
    const input = await deployment({ env: "SERVICE_API_TOKEN=long-enough-for-a-token\n", mode: 0o644 });
    const before = await snapshot(input.flags.dir);
    await examine(input);
    expect(await snapshot(input.flags.dir)).toEqual(before);
  });
});

async function deployment(spec: ProbeContextSpec) {
  const { paths } = await probeContextWith(spec);
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  return {
    flags: { dir: paths.dir },
    env: { HOME: paths.dir, SERVICE_HOME: join(paths.dir, "home") },
    cwd: paths.dir,
    root: ROOT,
    version: VERSION,
    timeoutMs: EVENTUALLY_MS,
    probe: NO_TOOLS,
    signal: ended.signal,
  };
}

async function snapshot(directory: string): Promise<unknown[]> {
  const names = (await readdir(directory, { recursive: true })).sort();
  return Promise.all(
    names.map(async (name) => {
      const { mode, size, mtimeMs, ino } = await stat(join(directory, name));
      return { name, mode, size, mtimeMs, ino };
    }),
  );
}

function apply(...repairs: readonly Repair[]) {
  return applyRepairs(
    repairs.map((repair): Planned => ({ check: "system.home", repair })),
    { signal },
  );
}

async function file(text: string, mode = 0o644): Promise<string> {
  const path = join(await temporaryDirectory(), "file");
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

/** Whether the lines come in this order among the others. */
function isWithin(lines: readonly string[], all: readonly string[]): boolean {
  let at = 0;
  for (const line of all) if (at < lines.length && line === lines[at]) at += 1;
  return at === lines.length;
}
