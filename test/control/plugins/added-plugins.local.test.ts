import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { create as createArchive } from "tar";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { addPlugin } from "../../../control/plugins/add.ts";
import { PACKAGES } from "../../../control/plugins/packages.ts";
import { parsePluginSource } from "../../../control/plugins/plugin-source.ts";
import { removePlugin } from "../../../control/plugins/remove.ts";
import type { Deployment } from "../../../control/service/deployment.ts";
import { deploymentDirectory, temporaryDirectory } from "../../support/deployment.ts";
import { packed, startRegistry } from "../../support/npm-registry.ts";
import { writePlugins } from "../../support/plugin-folders.ts";

const YAML = `# Ours.
version: 1
agents:
  main: { provider: offline } # who answers
providers:
  offline: {}
`;

const { signal } = new AbortController();
const OPTIONS = { dryRun: false, signal };

const tool = (name: string) =>
  `export const create = () => ({ name: "${name}", description: "x", parameters: { type: "object" }, execute: async () => ({ content: "" }) });`;

const manifestOf = (version: string, more: object = {}) =>
  JSON.stringify({ name: "sky", version, type: "module", cairn: { kind: "tool", contract: 1 }, ...more });

let dir: string;
let deployment: Deployment;
const read = () => readFile(deployment.file, "utf8");
const packages = () => readdir(join(deployment.home, PACKAGES)).catch(() => []);
const add = (spec: string, options = OPTIONS) =>
  addPlugin(deployment, parsePluginSource(spec, dir, undefined), options);
const remove = (id: string, options = OPTIONS) => removePlugin(deployment, id, options);

async function write(yaml: string): Promise<void> {
  await writeFile(deployment.file, yaml);
}

async function archive(files: Readonly<Record<string, string>>): Promise<string> {
  const { name, version, archive: bytes } = await packed(files);
  const path = join(await temporaryDirectory(), `${name}-${version}.tgz`);
  await writeFile(path, bytes);
  return path;
}

beforeEach(async () => {
  dir = await deploymentDirectory({ yaml: YAML, env: "" });
  deployment = { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml"), exists: true };
});

describe("a source of a plugin", () => {
  it.each([
    ["./sky", { kind: "folder", path: "/here/sky" }],
    [".", { kind: "folder", path: "/here" }],
    ["plugins/sky", { kind: "folder", path: "/here/plugins/sky" }],
    ["~/sky", { kind: "folder", path: "/me/sky" }],
    ["/opt/sky", { kind: "folder", path: "/opt/sky" }],
    ["sky-1.0.0.tgz", { kind: "archive", path: "/here/sky-1.0.0.tgz" }],
    ["sky@1.0.0", { kind: "package", name: "sky", version: "1.0.0" }],
    ["@me/sky@1.0.0-rc.1", { kind: "package", name: "@me/sky", version: "1.0.0-rc.1" }],
  ])("%s", (spec, source) => {
    expect(parsePluginSource(spec, "/here", "/me")).toEqual(source);
  });

  it.each([
    "sky",
    "sky@latest",
    "sky@^1.0.0",
    "sky@v1.0.0",
    "@me/sky",
    "",
    "me/sky@x:y\n",
    "git+https://x@1.0.0",
    "--help@1.0.0x",
    "--foo@1.2.3",
    "-g@1.2.3",
  ])("is not %j", (spec) => {
    const parse = () => parsePluginSource(spec, "/here", "/me");
    if (spec.includes("/") && !spec.startsWith("@")) expect(parse()).toMatchObject({ kind: "folder" });
    else expect(parse).toThrow(expect.objectContaining({ code: "RUNTIME_INVALID_REQUEST" }));
  });
});

describe("adding a folder", () => {
  it("names it as from the file's own directory, keeps every other line, and changes nothing a second time", async () => {
    await writePlugins(join(dir, "mine"), { sky: { kind: "tool", code: tool("sky") } });
    const dry = await add("./mine/sky", { dryRun: true, signal });
    expect(dry).toMatchObject({ changed: true, provides: ["sky"] });
    expect(await read()).toBe(YAML);
    const added = await add("./mine/sky");
    expect(added).toMatchObject({ plugin: "sky", kind: "tool", version: "1.0.0", integrity: null, replaced: null });
    expect(added.path).toBe(join(dir, "mine", "sky"));
    const written = await read();
    expect(written).toBe(`${YAML}plugin_dirs:\n  - ./mine/sky\n`);
    await symlink(join(dir, "mine"), join(dir, "again"));
    for (const spec of ["./mine/sky", "./again/sky"]) {
      expect(await add(spec)).toMatchObject({ changed: false, provides: ["sky"] });
    }
    expect(await read()).toBe(written);
  });

  it("puts one from elsewhere behind the others, by its whole path", async () => {
    const elsewhere = await temporaryDirectory();
    await writePlugins(elsewhere, { rain: { kind: "hook", code: HOOK } });
    await writePlugins(join(dir, "mine"), { sky: { kind: "tool", code: tool("sky") } });
    await write(`${YAML}plugin_dirs:\n  - ./mine # ours\n`);
    expect(await add(join(elsewhere, "rain"))).toMatchObject({ provides: ["rain"] });
    expect(await read()).toBe(`${YAML}plugin_dirs:\n  - ./mine # ours\n  - ${elsewhere}/rain\n`);
    // A folder that one of the directories holds is there already.
    expect(await add("./mine/sky")).toMatchObject({ changed: false });
  });

  it("refuses what the node could not load, and changes nothing", async () => {
    const settings = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };
    await writePlugins(join(dir, "mine"), {
      ends: { kind: "tool", code: "process.exit(7)" },
      thrown: { kind: "tool", code: "throw new Error('no sky')" },
      future: { kind: "tool", code: tool("future"), contract: 2 },
      shell: { kind: "tool", code: tool("sky") },
      taken: { kind: "tool", code: tool("file_read") },
      keyed: { kind: "tool", code: tool("keyed"), settings },
      schema: { kind: "tool", code: tool("schema"), settings: { type: "object", properties: 1 } },
      speaks: {
        kind: "tool",
        code: "process.send({ ok: true, names: ['x'] }); process.send('ready'); process.exit(8)",
      },
      outside: { kind: "tool" },
      rooted: { kind: "tool" },
      open: { kind: "tool", code: tool("open") },
    });
    await writeFile(join(dir, "mine", "open", "other.js"), "", { mode: 0o666 });
    await rm(join(dir, "mine", "open", "other.js"));
    await symlink("/etc/hostname", join(dir, "mine", "open", "other.js"));
    await mkdir(join(dir, "mine", "empty"));
    await writeFile(join(dir, "outside.mjs"), tool("outside"));
    for (const [name, main] of Object.entries({ outside: "x/../../../outside.mjs", rooted: "/../../outside.mjs" })) {
      await writeFile(join(dir, "mine", name, "package.json"), manifestOf("1.0.0", { name, main }));
    }
    const refusals: Record<string, string> = {};
    for (const name of [
      "ends",
      "thrown",
      "future",
      "shell",
      "taken",
      "keyed",
      "schema",
      "open",
      "empty",
      "none",
      ...MORE,
    ]) {
      const error: unknown = await add(`./mine/${name}`).catch((reason: unknown) => reason);
      refusals[name] = error instanceof Error ? error.message.replaceAll(`${dir}/mine/`, "") : "it was added";
    }
    expect(refusals).toEqual({
      ends: "ends is no plugin that can be used: it ends its process with code 7.",
      thrown: "thrown is no plugin that can be used: no sky.",
      future: expect.stringContaining("cairn.contract is 2, and this version of Cairn loads plugins of contract 1"),
      shell: "shell is a name of Cairn's own.",
      taken: "taken is no plugin that can be used: there is a tool file_read already.",
      keyed: expect.stringContaining("plugins.keyed.settings.key"),
      schema: expect.stringContaining("cairn.settings is no JSON Schema that can be used"),
      open: expect.stringContaining("is a link that leads outside"),
      empty: "empty is no plugin that can be used: it has no package.json.",
      none: expect.stringContaining("none is no plugin that can be used"),
      speaks: "speaks is no plugin that can be used: it ends its process with code 8.",
      outside: "outside is no plugin that can be used: its package.json: main must lie in its folder.",
      rooted: "rooted is no plugin that can be used: its package.json: main must lie in its folder.",
    });
    expect(await read()).toBe(YAML);
    await write(`${YAML}plugins: { keyed: { settings: { key: "\${KEY}" } } }\n`);
    expect(await add("./mine/keyed")).toMatchObject({ changed: true, missing: ["KEY"] });
    await writePlugins(join(dir, "more"), { keyed: { kind: "tool", code: tool("other") } });
    await expect(add("./more/keyed")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
  });
});

const MORE = ["speaks", "outside", "rooted"];
const HOOK = `export const create = () => ({ name: "rain", event: "turn:before", priority: 50, run: async () => {} });`;

describe("adding a tool", () => {
  it("is refused where another plugin has one of that name, or it has two, and changes nothing", async () => {
    const twice =
      "const tool = { name: 'star', description: 'x', parameters: { type: 'object' }, execute: async () => ({}) };";
    await writePlugins(join(dir, "mine"), {
      sky: { kind: "tool", code: tool("look_up") },
      broken: { kind: "tool", code: "throw new Error('no sky')" },
      night: { kind: "tool", code: tool("look_up") },
      stars: { kind: "tool", code: `${twice} export const create = () => [tool, tool];` },
    });
    const yaml = `${YAML}plugin_dirs: [./mine/broken, ./mine/sky]\n`;
    await write(yaml);
    await expect(add("./mine/night")).rejects.toThrow(
      `${dir}/mine/night is no plugin that can be used: the plugin sky has a tool look_up already.`,
    );
    await expect(add("./mine/stars")).rejects.toThrow("it brings two tools named star.");
    expect(await read()).toBe(yaml);
    await write(`${yaml}plugins: { sky: { enabled: false } }\n`);
    expect(await add("./mine/night")).toMatchObject({ changed: true, provides: ["look_up"] });
  });

  it("is compared with all others at once: each may load slowly", async () => {
    const meets = (self: string, other: string) =>
      `import { existsSync, writeFileSync } from "node:fs";
      writeFileSync("${join(dir, self)}", "");
      while (!existsSync("${join(dir, other)}")) await new Promise((resolve) => setTimeout(resolve, 20));
      ${tool(self)}`;
    await writePlugins(join(dir, "mine"), {
      east: { kind: "tool", code: meets("east", "west") },
      west: { kind: "tool", code: meets("west", "east") },
      night: { kind: "tool", code: tool("east") },
    });
    await write(`${YAML}plugin_dirs: [./mine/east, ./mine/west]\n`);
    await expect(add("./mine/night")).rejects.toThrow("the plugin east has a tool east already");
  });
});

describe("adding a package", () => {
  it("installs an archive once, a new version in its place, and deletes it with its entry", async () => {
    const first = await archive({ "package.json": manifestOf("1.0.0"), "index.js": tool("sky") });
    expect(await add(first, { dryRun: true, signal })).toMatchObject({ changed: true });
    expect([await read(), await packages()]).toEqual([YAML, []]);

    const added = await add(first);
    expect(added).toMatchObject({ changed: true, version: "1.0.0", integrity: expect.stringMatching(/^sha512-/) });
    expect(await read()).toBe(`${YAML}plugin_dirs:\n  - ./home/${PACKAGES}/sky@1.0.0\n`);
    expect(await add(first)).toMatchObject({ changed: false, integrity: added.integrity, replaced: null });
    const other = await archive({ "package.json": manifestOf("1.0.0"), "index.js": tool("other") });
    await expect(add(other)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });

    const broken = await archive({ "package.json": manifestOf("1.0.1"), "index.js": "process.exit(7)" });
    await expect(add(broken)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(await packages()).toEqual(["sky@1.0.0"]);

    const second = await archive({ "package.json": manifestOf("1.1.0"), "index.js": tool("sky") });
    expect(await add(second)).toMatchObject({ changed: true, version: "1.1.0", replaced: "1.0.0" });
    expect(await read()).toBe(`${YAML}plugin_dirs:\n  - ./home/${PACKAGES}/sky@1.1.0\n`);
    // The node that runs may import files of the old one yet; the next command deletes it, and one that only shows does not.
    expect(await packages()).toEqual(["sky@1.0.0", "sky@1.1.0"]);
    expect(await add(first, { dryRun: true, signal })).toMatchObject({ changed: true, replaced: "1.1.0" });
    expect(await remove("sky", { dryRun: true, signal })).toMatchObject({ changed: true, installed: true });
    expect(await packages()).toEqual(["sky@1.0.0", "sky@1.1.0"]);
    expect(await remove("sky")).toMatchObject({ changed: true, installed: true });
    expect([await read(), await packages()]).toEqual([`${YAML}plugin_dirs: []\n`, ["sky@1.1.0"]]);
    const rain = JSON.parse(manifestOf("1.0.0", { name: "rain", cairn: { kind: "hook", contract: 1 } }));
    expect(await add(await archive({ "package.json": JSON.stringify(rain), "index.js": HOOK }))).toMatchObject({
      changed: true,
    });
    expect(await packages()).toEqual(["rain@1.0.0"]);
  });

  it("does not touch a broken one that the configuration names", async () => {
    const file = await archive({ "package.json": manifestOf("1.0.0"), "index.js": tool("sky") });
    const { path } = await add(file);
    const before = await read();
    await writeFile(join(path, "package.json"), "{broken");
    for (const dryRun of [true, false]) {
      await expect(add(file, { dryRun, signal })).rejects.toMatchObject({
        code: "RUNTIME_CONFLICT",
        details: { hint: "First `cairn plugin remove sky@1.0.0`." },
      });
    }
    expect([await read(), await readFile(join(path, "package.json"), "utf8")]).toEqual([before, "{broken"]);
    expect(await remove("sky@1.0.0")).toMatchObject({ changed: true, installed: true });
    expect(await add(file)).toMatchObject({ changed: true, provides: ["sky"] });
  });

  it("can be used where the umask lets a group write, and its archive has no entries of folders, as npm packs it", async () => {
    const folder = await temporaryDirectory();
    await mkdir(join(folder, "package", "lib"), { recursive: true });
    await writeFile(join(folder, "package", "package.json"), manifestOf("1.0.0", { main: "lib/index.js" }));
    await writeFile(join(folder, "package", "lib", "index.js"), tool("sky"));
    const file = join(folder, "sky.tgz");
    const names = ["package/package.json", "package/lib/index.js"];
    await createArchive({ file, cwd: folder, gzip: true, portable: true }, names);
    const umask = process.umask(0o002);
    onTestFinished(() => void process.umask(umask));
    expect(await add(file)).toMatchObject({ provides: ["sky"] });
  });

  it("takes files alone from an archive, and what others may not write to", async () => {
    const folder = await temporaryDirectory();
    await mkdir(join(folder, "package"));
    await writeFile(join(folder, "package", "package.json"), manifestOf("1.0.0"));
    await writeFile(join(folder, "package", "index.js"), tool("sky"), { mode: 0o666 });
    await writeFile(join(folder, "package", ".npmrc"), "ignore-scripts=false\n");
    await symlink("/etc/hostname", join(folder, "package", "outside"));
    const file = join(folder, "sky.tgz");
    await createArchive({ file, cwd: folder, gzip: true }, ["package"]);
    const { path } = await add(file);
    expect((await readdir(path)).sort()).toEqual([".cairn-package.json", "index.js", "package.json"]);
  });

  it("refuses what is no archive of a plugin, and leaves nothing", async () => {
    const noise = join(dir, "noise.tgz");
    await writeFile(noise, "no archive");
    await expect(add(noise)).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    await expect(add("./none.tgz")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    const other = await archive({ "package.json": JSON.stringify({ name: "left", version: "1.0.0" }) });
    await expect(add(other)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    const escaping = await archive({ "package.json": manifestOf("../../up"), "index.js": tool("sky") }).catch(
      () => null,
    );
    if (escaping !== null) await expect(add(escaping)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    const record = await archive({ "package.json": manifestOf("1.0.0"), ".cairn-package.json/x": "" });
    await expect(add(record)).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    expect([await read(), await packages()]).toEqual([YAML, []]);
  });

  it("fetches exactly one version with what it needs, runs no script, and asks for nothing that only its author needs", async () => {
    const ran = join(dir, "ran");
    const scripts = { install: `touch ${ran}`, postinstall: `touch ${ran}`, prepare: `touch ${ran}` };
    const sky = manifestOf("1.2.0", {
      scripts,
      dependencies: { cloud: "^2.0.0" },
      devDependencies: { "cairn-agents": "0.0.0" },
      peerDependencies: { "cairn-agents": "0.0.0" },
    });
    const code = `import { name } from "cloud";\n${tool("sky").replace('"sky"', "name")}`;
    const cloud = { name: "cloud", version: "2.3.4", type: "module", exports: "./index.js", scripts };
    const registry = await startRegistry([
      await packed({ "package.json": sky, "index.js": code }),
      await packed({ "package.json": JSON.stringify(cloud), "index.js": 'export const name = "of_cloud";' }),
      { ...(await packed({ "package.json": manifestOf("3.0.0"), "index.js": tool("sky") })), as: "moon" },
    ]);
    onTestFinished(() => registry.close());
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("npm_config_registry", registry.url);
    vi.stubEnv("npm_config_cache", await temporaryDirectory());
    vi.stubEnv("npm_config_fetch_retries", "0");

    expect(await add("sky@1.2.0")).toMatchObject({ version: "1.2.0", provides: ["of_cloud"] });
    await expect(readFile(ran)).rejects.toMatchObject({ code: "ENOENT" });
    expect(registry.requests.filter((path) => path.includes("cairn-agents"))).toEqual([]);
    const path = join(deployment.home, PACKAGES, "sky@1.2.0");
    expect(JSON.parse(await readFile(join(path, "package-lock.json"), "utf8"))).toMatchObject({
      packages: { "node_modules/cloud": { version: "2.3.4" } },
    });

    await expect(add("sky@1.3.0")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await expect(add("stars@1.0.0")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await expect(add("moon@3.0.0")).rejects.toThrow("The registry has given sky@3.0.0 for moon@3.0.0.");
    await registry.close();
    await expect(add("rain@1.0.0")).rejects.toMatchObject({
      code: "INFRA_FAILED",
      details: { lastWords: expect.arrayContaining([expect.stringContaining("ECONNREFUSED")]) },
    });
    expect(await packages()).toEqual(["sky@1.2.0"]);
  });

  it("lets two commands at the same moment both have their way, or one be told of the conflict", async () => {
    const one = await archive({ "package.json": manifestOf("1.0.0"), "index.js": tool("sky") });
    const rain = JSON.stringify({
      name: "rain",
      version: "1.0.0",
      cairn: { kind: "hook", contract: 1 },
      type: "module",
    });
    const two = await archive({ "package.json": rain, "index.js": HOOK });
    const outcomes = await Promise.allSettled([add(one), add(two)]);
    const failed = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
    expect(failed.filter((code) => code !== "RUNTIME_CONFLICT")).toEqual([]);
    const named = (await read()).split("\n").filter((line) => line.startsWith("  - "));
    expect(named.map((line) => line.split("/").at(-1)).sort()).toEqual((await packages()).sort());
    expect(named).toHaveLength(2 - failed.length);
  });
});

describe("removing a plugin", () => {
  it("takes out its entry and its settings, keeps its folder, and changes nothing a second time", async () => {
    await writePlugins(join(dir, "mine"), {
      sky: { kind: "tool", code: tool("sky"), settings: { type: "object" } },
      rain: { kind: "hook", code: HOOK },
    });
    const rest = `${YAML}plugin_dirs:\n  - ./mine/rain # hooks\n`;
    await write(`${rest}  - ./mine/sky\nplugins:\n  rain: { enabled: true }\n  sky: { settings: { x: 1 } }\n`);
    expect(await remove("sky")).toMatchObject({ changed: true, path: join(dir, "mine", "sky"), installed: false });
    expect(await read()).toBe(`${rest}plugins:\n  rain: { enabled: true }\n`);
    expect(await readdir(join(dir, "mine", "sky"))).toContain("index.js");
    expect(await remove("sky")).toMatchObject({ changed: false, path: null });
    await expect(remove("shell")).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    // One that cannot be loaded any more can be removed all the same.
    await rm(join(dir, "mine", "rain"), { recursive: true });
    expect(await remove("rain")).toMatchObject({ changed: true });
    expect(await read()).toContain("plugin_dirs: []");
  });

  it("removes none but the one that was asked for, while another command removes its neighbour", async () => {
    await writePlugins(dir, {
      first: { kind: "tool", code: tool("first") },
      second: { kind: "tool", code: `await new Promise((resolve) => setTimeout(resolve, 1500));\n${tool("second")}` },
      third: { kind: "tool", code: tool("third") },
    });
    await write(`${YAML}plugin_dirs:\n  - ./first\n  - ./second\n  - ./third\n`);
    const removed = await Promise.all([remove("first"), remove("second")]);
    expect(removed).toMatchObject([{ changed: true }, { changed: true }]);
    expect(await read()).toBe(`${YAML}plugin_dirs:\n  - ./third\n`);
  });

  it("keeps settings of another plugin, whose id is the name of the broken one's folder", async () => {
    await writePlugins(dir, {
      good: { kind: "tool", code: tool("sky") },
      "old/sky": { kind: "tool", code: tool("old") },
    });
    const manifest = {
      name: "sky",
      cairn: { kind: "tool", contract: 1, settings: { type: "object" } },
      type: "module",
    };
    await writeFile(join(dir, "good", "package.json"), JSON.stringify(manifest));
    await writeFile(join(dir, "old/sky", "package.json"), "{broken");
    const settings = "plugins:\n  sky: { settings: { units: metric } }\n";
    await write(`${YAML}plugin_dirs:\n  - ./old/sky\n  - ./good\n${settings}`);
    expect(await remove("sky")).toMatchObject({ changed: true, path: join(dir, "old/sky") });
    expect(await read()).toBe(`${YAML}plugin_dirs:\n  - ./good\n${settings}`);
  });

  it("keeps a folder that its owner has put among the packages", async () => {
    const mine = join(deployment.home, PACKAGES);
    await writePlugins(mine, { sky: { kind: "tool", code: tool("sky") } });
    await add(join(mine, "sky"));
    expect(await remove("sky")).toMatchObject({ changed: true, installed: false });
    const file = await archive({ "package.json": manifestOf("1.0.0"), "index.js": tool("sky") });
    await add(file);
    expect(await packages()).toEqual(["sky", "sky@1.0.0"]);
  });

  it("is refused for one of several in a directory", async () => {
    await writePlugins(join(dir, "mine"), { sky: { kind: "tool", code: tool("sky") } });
    await write(`${YAML}plugin_dirs: [./mine]\n`);
    await expect(remove("sky")).rejects.toMatchObject({
      code: "RUNTIME_CONFLICT",
      details: { hint: expect.stringContaining("enabled: false") },
    });
  });

  it.each([
    ["an agent", "tool", tool("look_up"), "agents.main.tools.include", "x: {}"],
    [
      "a channel",
      "channel",
      "export const create = () => ({});",
      "channels.desk",
      "channels: { desk: { kind: sky, owner_id: ada } }",
    ],
    ["a provider", "provider", "export const create = () => ({});", "providers.deep", "x: {}"],
  ])("is refused while %s names what it brings", async (_whose, kind, code, place, more) => {
    await writePlugins(join(dir, "mine"), { sky: { kind, code } });
    const agent =
      kind === "tool" ? "main: { provider: offline, tools: { include: [look_up] } }" : "main: { provider: offline }";
    const provider = kind === "provider" ? "  deep: { kind: sky, model: m }\n" : "";
    const yaml = `version: 1\nagents:\n  ${agent}\nproviders:\n  offline: {}\n${provider}plugin_dirs: [./mine/sky]\n${more}\n`;
    await write(yaml);
    await expect(remove("sky")).rejects.toThrow(`sky cannot be removed: ${place} names it.`);
    expect(await read()).toBe(yaml);
  });
});
