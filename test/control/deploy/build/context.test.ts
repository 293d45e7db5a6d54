import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { assembleContext, FIXED_TIME_S } from "../../../../control/deploy/build/context.ts";
import { prepareSource, revisionOf } from "../../../../control/deploy/build/source.ts";
import { CONTAINER } from "../../../../infra/plan/types.ts";
import { createSkillLibrary } from "../../../../runtime/app/skills/library.ts";
import { ROOT } from "../../../../scripts/lib/paths.js";
import { lacks } from "../../../lanes/tools.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

/** What is installed of the program, as far as the image needs it. */
const PACKAGE = {
  "package.json": '{"name":"cairn","version":"1.2.3","type":"module","license":"Apache-2.0","scripts":{"x":"y"}}',
  LICENSE: "licence",
  "dist/runtime/main.js": "main",
  "dist/runtime/main.js.map": "{}",
  "dist/runtime/main.d.ts": "types",
  "dist/runtime/http/server.js": "server",
  "dist/control/main.js": "control",
  "dist/infra/program.js": "infra",
  "dist/image/package.json": "{}",
  "dist/image/package-lock.json": "{}",
  "migrations/001.sql": "sql",
  "templates/image/Dockerfile": "FROM x",
  "templates/image/strip-packages.js": "strip",
  "templates/image/install-plugins.js": "install",
  ".env": "SECRET=1",
};

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
};

async function assemble(dirs: { plugins?: readonly string[]; skills?: readonly string[] } = {}): Promise<string> {
  const root = await write(await temporaryDirectory(), PACKAGE);
  const source = await prepareSource(root, new AbortController().signal, () => undefined);
  const target = await temporaryDirectory();
  const { plugins = [], skills = [] } = dirs;
  await assembleContext(target, { source, pluginDirs: plugins, skillDirs: skills, timeS: FIXED_TIME_S });
  return target;
}

describe("assembleContext", () => {
  it("holds the files of the image and no others", async () => {
    expect(await filesIn(await assemble())).toEqual([
      "Dockerfile",
      "application/LICENSE",
      "application/dist/runtime/http/server.js",
      "application/dist/runtime/main.js",
      "application/migrations/001.sql",
      "application/package.json",
      "dependencies/package-lock.json",
      "dependencies/package.json",
      "steps/install-plugins.js",
      "steps/strip-packages.js",
    ]);
  });

  it("knows the version inside", async () => {
    const context = await assemble();
    const { name, version, scripts } = JSON.parse(await readFile(join(context, "application/package.json"), "utf8"));
    expect({ name, version, scripts }).toEqual({ name: "cairn", version: "1.2.3", scripts: undefined });
  });

  it("is the same from the same files, whenever and with whatever umask they were written", async () => {
    const mask = process.umask(0o077);
    const first = await assemble();
    process.umask(0o002);
    const second = await assemble();
    process.umask(mask);
    const archive = (folder: string) =>
      execFileSync("tar", ["-c", "--sort=name", "--owner=0", "--group=0", "-C", folder, "."]).toString("base64");
    expect(archive(first)).toBe(archive(second));
    for (const file of await readdir(first, { recursive: true })) {
      expect((await stat(join(first, file))).mtimeMs, file).toBe(FIXED_TIME_S * 1000);
    }
  });

  it("has skills where the runtime of the image finds them, for the user of the container", async () => {
    const text = "---\nname: letters\ndescription: How to write letters.\n---\nDear all,\n";
    const directory = await write(await temporaryDirectory(), { "letters/SKILL.md": text });
    await chmod(join(directory, "letters", "SKILL.md"), 0o600);
    const context = await assemble({ skills: [directory] });
    // The step of the image copies skills/ to what the node's configuration says.
    const dockerfile = await readFile(join(ROOT, "templates", "image", "Dockerfile"), "utf8");
    expect(dockerfile).toMatch(/^WORKDIR \/opt\/cairn\n(?:COPY .*\n)*COPY skills\/ \.\/skills\/$/m);
    expect(CONTAINER.skills).toBe("/opt/cairn/skills");
    const library = createSkillLibrary({
      skillDirs: [join(context, "skills", "0")],
      workspaces: [],
      logger: quietLogger,
    });
    expect(await library.catalogue(null)).toMatchObject({ skills: [{ name: "letters" }], skipped: [] });
    expect((await stat(join(context, "skills", "0", "letters", "SKILL.md"))).mode & 0o777).toBe(0o644);
  });

  it("puts each plugin and skill directory under its number", async () => {
    const one = await write(join(await temporaryDirectory(), "weather"), {
      "a/package.json": '{"name":"a","cairn":{"kind":"tool","contract":1},"dependencies":{"x":"1"}}',
      "a/package-lock.json": "{}",
      "a/index.js": "code",
    });
    const two = await write(join(await temporaryDirectory(), "weather"), { "index.js": "other" });
    const skill = await write(join(await temporaryDirectory(), "s"), { "SKILL.md": "how" });
    const files = await filesIn(await assemble({ plugins: [one, two], skills: [skill] }));
    expect(files.filter((file) => /^(?:plugin|skill)/.test(file))).toEqual([
      "plugin-manifests/0/a/package-lock.json",
      "plugin-manifests/0/a/package.json",
      "plugins/0/a/index.js",
      "plugins/0/a/package-lock.json",
      "plugins/0/a/package.json",
      "plugins/1/index.js",
      "skills/0/SKILL.md",
    ]);
  });

  it("refuses a plugin whose manifest is none, and names what is wrong with it", async () => {
    const dir = await write(join(await temporaryDirectory(), "mine"), {
      "good/package.json": '{"name":"good","cairn":{"kind":"tool"}}',
      "bad/package.json": '{"name":"bad","cairn":{"kind":"toy"}}',
    });
    await expect(assemble({ plugins: [dir] })).rejects.toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringMatching(/bad of plugin_dirs is no plugin: its package\.json: cairn\.kind must be one of /),
    });
  });

  it("leaves secrets, histories and installed packages of a plugin behind", async () => {
    const plugin = await write(await temporaryDirectory(), {
      "index.js": "code",
      ".env": "TOKEN=x",
      "deep/.env.production": "TOKEN=x",
      "deep/ok.js": "code",
      ".npmrc": "//r/:_authToken=x",
      ".git/config": "[remote]",
      "node_modules/x/index.js": "x",
      "certificates/node.key": "-----BEGIN",
      "certificates/node.pem": "-----BEGIN",
      "certificates/NODE.KEY": "-----BEGIN",
      id_rsa: "-----BEGIN",
      "deep/id_ed25519": "-----BEGIN",
      "deep/id_ecdsa.bak": "-----BEGIN",
      "credentials.json": "{}",
      "deep/gcloud-credentials.json": "{}",
      "service-account.json": "{}",
      "client_secret_1.apps.json": "{}",
      "secrets.yaml": "x",
      _netrc: "x",
      "store.p12": "x",
      "vault.kdbx": "x",
      "terraform.tfstate": "x",
      kubeconfig: "x",
      ".aws/credentials": "[default]",
      ".ssh/config": "Host x",
      ".hidden": "x",
      deploy: "\n-----BEGIN OPENSSH PRIVATE KEY-----\nx",
      "account.txt": '{ "type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nx" }',
    });
    const files = await filesIn(await assemble({ plugins: [plugin] }));
    expect(files.filter((file) => file.startsWith("plugins/"))).toEqual(["plugins/0/deep/ok.js", "plugins/0/index.js"]);
  });

  it("keeps what is only called like a secret", async () => {
    const names = ["id_rsa.pub", "credentials.js", "secrets/index.js", "keys.ts", "key.js", "identity_map.json"];
    const plugin = await write(await temporaryDirectory(), {
      ...Object.fromEntries(names.map((name) => [name, "code"])),
      "check.js": `${"// long\n".repeat(20)}if (text.startsWith("-----BEGIN PRIVATE KEY-----")) refuse();`,
    });
    const files = await filesIn(await assemble({ plugins: [plugin] }));
    const kept = [...names, "check.js"].map((name) => `plugins/0/${name}`).sort();
    expect(files.filter((file) => file.startsWith("plugins/"))).toEqual(kept);
  });

  it.each(["/etc/passwd", "../outside", "deep/../../outside"])("refuses a link to %s", async (link) => {
    const plugin = await write(join(await temporaryDirectory(), "plugin"), { "index.js": "code" });
    await symlink(link, join(plugin, "link"));
    await expect(assemble({ plugins: [plugin] })).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
  });

  it("keeps a link that stays inside, and the mode of a program", async () => {
    const plugin = await write(await temporaryDirectory(), { "real.js": "code", "deep/run.sh": "#!/bin/sh" });
    await symlink("../real.js", join(plugin, "deep", "link.js"));
    execFileSync("chmod", ["700", join(plugin, "deep", "run.sh")]);
    const context = await assemble({ plugins: [plugin] });
    expect(await readFile(join(context, "plugins/0/deep/link.js"), "utf8")).toBe("code");
    expect((await stat(join(context, "plugins/0/deep/run.sh"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(context, "plugins/0/real.js"))).mode & 0o777).toBe(0o644);
  });

  it("does not touch the times of what it copies", async () => {
    const plugin = await write(await temporaryDirectory(), { "index.js": "code" });
    await utimes(join(plugin, "index.js"), 1_000_000, 1_000_000);
    await assemble({ plugins: [plugin] });
    expect((await stat(join(plugin, "index.js"))).mtimeMs).toBe(1_000_000_000);
  });

  it.each([["a file"], ["missing"]])("says when a plugin directory is %s", async (kind) => {
    const path = join(await temporaryDirectory(), "plugin");
    if (kind === "a file") await writeFile(path, "");
    await expect(assemble({ plugins: [path] })).rejects.toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining(path),
    });
  });
});

describe("prepareSource", () => {
  it("says when there is no compiled program", async () => {
    const root = await write(await temporaryDirectory(), { "package.json": '{"version":"1.2.3"}' });
    const preparing = prepareSource(root, new AbortController().signal, () => undefined);
    await expect(preparing).rejects.toMatchObject({ code: "INFRA_BUILD_FAILED" });
  });

  it("compiles a source tree, and shows the compiler's words when that fails", async () => {
    const root = await write(await temporaryDirectory(), {
      ...PACKAGE,
      "scripts/run.js": "console.log('runtime/x.ts(1,1): error'); process.exitCode = 1;",
    });
    const preparing = prepareSource(root, new AbortController().signal, () => undefined);
    await expect(preparing).rejects.toMatchObject({
      code: "INFRA_BUILD_FAILED",
      message: expect.stringContaining("runtime/x.ts(1,1): error"),
    });
  });
});

describe.skipIf(lacks("git"))("revisionOf", () => {
  const git = (root: string, ...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=x", "-c", "user.email=x@example.org", ...args], { stdio: "pipe" })
      .toString()
      .trim();

  it("is the commit, marked when files differ, and nothing for a package inside another's checkout", async () => {
    const root = await write(await temporaryDirectory(), { "a.txt": "1", "node_modules/cairn/package.json": "{}" });
    expect(await revisionOf(root)).toBeNull();
    git(root, "init", "-q");
    git(root, "add", "a.txt", "node_modules");
    git(root, "commit", "-q", "-m", "first");
    const commit = git(root, "rev-parse", "HEAD");
    expect(await revisionOf(root)).toBe(commit);
    await writeFile(join(root, "a.txt"), "2");
    expect(await revisionOf(root)).toBe(`${commit}-dirty`);
    expect(await revisionOf(join(root, "node_modules", "cairn"))).toBeNull();
  });
});
