/** `backup` and `restore` of a deployed stack: its nodes are played by servers, and the way into their containers by a command line. */

import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { stagingOf } from "../../../control/backup/restore/places.ts";
import { type Cli, createCli } from "../../support/cli.ts";
import { deployedDirectory } from "../../support/deployed-directory.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { createFakeTools, type FakeTools } from "../../support/fake-tools.ts";
import { archive, playNode } from "../../support/played-memory.ts";
import { wrongWith } from "../../support/result-schema.ts";

interface Stack {
  readonly cli: Cli;
  readonly tools: FakeTools;
  readonly env: NodeJS.ProcessEnv;
  readonly around: string;
  readonly flags: readonly string[];
}

async function stack(docker: string, shared: boolean): Promise<Stack> {
  const cli = await createCli();
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  await tools.add("docker", docker);
  const ports = { "nova-1": await playNode(archive("one")), "nova-2": await playNode(archive("two")) };
  await deployedDirectory(cli.home, { ports, shared });
  await mkdir(join(cli.home, "infra", "state"));
  await writeFile(join(cli.home, "infra", "state", "stack.json"), "{}");
  await writeFile(join(cli.home, "infra", ".passphrase"), "of the stack\n");
  await mkdir(join(cli.home, "workspace"));
  await writeFile(join(cli.home, "workspace", "SOUL.md"), "x");
  const around = await temporaryDirectory();
  await writeFile(join(around, "passphrase"), "correct horse battery staple\n", { mode: 0o600 });
  const env = { PATH: `${tools.directory}:${process.env.PATH}` };
  return { cli, tools, env, around, flags: ["--passphrase-file", join(around, "passphrase"), "--json"] };
}

describe("a deployed stack", () => {
  it.each([
    [true, ["memory.backup"]],
    [false, ["nova-1-memory.backup", "nova-2-memory.backup"]],
  ])(
    "is backed up with its memories and its nodes' files, and restored as a directory (one memory: %s)",
    async (shared, memories) => {
      const { cli, tools, env, around, flags } = await stack("echo the files of a node | gzip", shared);
      const file = join(around, "stack.tar.age");
      const made = await cli.run(["backup", file, ...flags], { env });
      expect(made, made.stdout).toMatchObject({ code: 0 });
      const result = JSON.parse(made.stdout);
      expect(wrongWith("backup", result)).toBeNull();
      expect(result).toMatchObject({ target: "docker", nodes: ["nova-1", "nova-2"], schema_version: 1 });
      const calls = (await tools.calls()).map((call) => call.slice(1)).filter(([word]) => word === "exec");
      expect(calls.map((call) => call.slice(0, 4))).toEqual([
        ["exec", "-i", "lab-nova-1", "tar"],
        ["exec", "-i", "lab-nova-2", "tar"],
      ]);
      expect(calls[0]).toEqual(expect.arrayContaining(["--exclude=var/lib/cairn/store", "var/lib/cairn", "srv/cairn"]));

      const dir = join(around, "restored");
      const restore = ["restore", file, "--dir", dir, ...flags];
      const elsewhere = { ...env, SERVICE_HOME: join(dir, ".cairn") };
      const checked = await cli.run([...restore, "--check"], { env: elsewhere });
      expect(checked, checked.stdout).toMatchObject({ code: 0 });
      const restored = await cli.run(restore, { env: elsewhere });
      expect(restored, restored.stdout).toMatchObject({ code: 0 });
      expect(wrongWith("restore", JSON.parse(restored.stdout))).toBeNull();
      const kept = [...memories, "nova-1-files.tar.gz", "nova-2-files.tar.gz"].sort();
      expect((await readdir(join(dir, "backups"))).sort()).toEqual([".gitignore", ...kept]);
      const files = await readFile(join(dir, "backups", "nova-2-files.tar.gz"));
      expect(gunzipSync(files).toString()).toBe("the files of a node\n");
      for (const name of [
        "cairn.yaml",
        "infra/.passphrase",
        "infra/state/stack.json",
        "infra/stack.json",
        "workspace/SOUL.md",
      ]) {
        expect(await readFile(join(dir, name), "utf8")).toBe(await readFile(join(cli.home, name), "utf8"));
      }
    },
  );

  it("takes away what a killed backup of this file has left, and no other machine's", async () => {
    const { cli, env, around, flags } = await stack("echo the files of a node | gzip", true);
    const others = ".other.tar.age.4194305.partial";
    for (const name of [others, ".stack.tar.age.4194305.partial"]) await writeFile(join(around, name), "");
    expect(await cli.run(["backup", join(around, "stack.tar.age"), ...flags], { env })).toMatchObject({ code: 0 });
    expect((await readdir(around)).sort()).toEqual([others, "passphrase", "stack.tar.age"]);
  });

  it("is neither written to standard output nor read from standard input", async () => {
    const { cli, env, flags } = await stack("echo the files of a node | gzip", true);
    const input = "no backup";
    for (const argv of [
      ["backup", "-"],
      ["backup", "--verify", "-"],
      ["restore", "-"],
      ["restore", "-", "--check"],
    ]) {
      expect(await cli.run([...argv, ...flags], { env, input }), argv.join(" ")).toMatchObject({ code: 2 });
    }
  });

  it("is restored elsewhere with the paths named that lead to where it was", async () => {
    const { cli, env, around, flags } = await stack("echo the files of a node | gzip", true);
    const file = join(around, "stack.tar.age");
    const workspace = join(cli.home, "workspace");
    const yaml = join(cli.home, "cairn.yaml");
    const more = `runtime: { workspace: ${workspace} }\nskill_dirs: [skills]\n`;
    await writeFile(yaml, `${await readFile(yaml, "utf8")}\n${more}`);
    expect(await cli.run(["backup", file, ...flags], { env })).toMatchObject({ code: 0 });
    const dir = join(around, "restored");
    const restore = ["restore", file, "--dir", dir, ...flags];
    const elsewhere = { env: { ...env, SERVICE_HOME: join(dir, ".cairn") } };
    for (const argv of [[...restore, "--check"], restore]) {
      const { stdout } = await cli.run(argv, elsewhere);
      expect(JSON.parse(stdout), stdout).toMatchObject({ former_paths: [workspace] });
    }
  });

  it("is not restored by way of a directory that another user has made", async () => {
    const { cli, env, around, flags } = await stack("echo the files of a node | gzip", true);
    const file = join(around, "stack.tar.age");
    expect(await cli.run(["backup", file, ...flags], { env })).toMatchObject({ code: 0 });
    const dir = join(around, "restored");
    const theirs = join(around, "theirs");
    await mkdir(theirs);
    await chmod(theirs, 0o777);
    const restore = ["restore", file, "--dir", dir, ...flags];
    const elsewhere = { ...env, SERVICE_HOME: join(around, "home") };
    for (const root of [dir, join(around, "home")]) {
      const staging = stagingOf(root);
      await symlink(theirs, staging);
      expect(await cli.run(restore, { env: elsewhere })).toMatchObject({ code: 1 });
      await rm(staging);
      await mkdir(staging);
      await chmod(staging, 0o777);
      expect(await cli.run(restore, { env: elsewhere })).toMatchObject({ code: 1 });
      await rm(staging, { recursive: true });
    }
    expect(await readdir(theirs)).toEqual([]);
    expect(await cli.run(restore, { env: elsewhere })).toMatchObject({ code: 0 });
  });

  it("has no backup where a node cannot be entered", async () => {
    const { cli, env, around, flags } = await stack("echo 'No such container: lab-nova-1' >&2; exit 2", true);
    const failed = await cli.run(["backup", join(around, "stack.tar.age"), ...flags], { env });
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout).error.message).toBe(
      "The files of nova-1 cannot be read: No such container: lab-nova-1.",
    );
    expect(await readdir(around)).toEqual(["passphrase"]);
    expect(await readdir(join(cli.home, "run"))).not.toContain("backup");
  });
});
