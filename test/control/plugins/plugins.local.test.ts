import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getuid } from "node:process";
import { describe, expect, it } from "vitest";
import { BUILT_IN } from "../../../control/plugins/built-in.ts";
import { listPlugins, pluginInfo } from "../../../control/plugins/plugins.ts";
import { pluginAccessProblem } from "../../../runtime/files/plugin-access.ts";
import { autoActions } from "../../../runtime/plugins/hooks/auto-actions/manifest.ts";
import { safety } from "../../../runtime/plugins/hooks/safety/manifest.ts";
import { sessionSummary } from "../../../runtime/plugins/hooks/session-summary/manifest.ts";
import { PROVIDERS } from "../../../runtime/plugins/providers/manifests.ts";
import { builtInTools } from "../../support/built-in-tools.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

async function installed(more = "") {
  const { loaded } = await inspectText(
    `version: 1\nagents:\n  main: { provider: a }\nproviders:\n  a: { kind: offline }\n  b: { kind: xai, model: m, api_key: k }\n${more}`,
  );
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  return { config: loaded.config, plugins: loaded.plugins, reports: null };
}

async function pluginDirectory(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(dir, name));
    await writeFile(join(dir, name, "package.json"), text);
  }
  return dir;
}

describe("the list of built-in plugins", () => {
  const names = (kind: string) => BUILT_IN.filter((one) => one.kind === kind).map(({ name }) => name);

  it("is what the service has", async () => {
    const tools = await builtInTools();
    // The id of each manifest is the name of the tool that it makes.
    expect(names("tool")).toEqual(tools.map(({ name }) => name));
    for (const kind of ["providers", "channels", "memory", "embeddings", "tools"] as const) {
      const entries = await readdir(new URL(`../../../runtime/plugins/${kind}`, import.meta.url), {
        withFileTypes: true,
      });
      const folders = entries.filter((entry) => entry.isDirectory() && !["shared", "wire"].includes(entry.name));
      const one = kind === "memory" ? kind : kind.slice(0, -1);
      expect(
        names(one)
          .map((name) => name.replaceAll("_", "-"))
          .sort(),
      ).toEqual(folders.map(({ name }) => name).sort());
    }
    const guards = await safety.create({
      settings: {
        shell_danger: true,
        workspace_fence: true,
        audit: true,
        rules: [{ name: "r", pattern: "x", action: "warn" }],
      },
      gate: { locate: async () => undefined },
      auditFile: { append: async () => undefined, status: () => ({ failing: null, lost: 0 }) },
      redact: (text) => text,
      logger: quietLogger,
    });
    const actions = await autoActions.create({
      settings: { format: "f", lint: "l", test: "t", git_check: true, commit: "turn" },
      runCommand: async () => ({ end: "exited", exitCode: 0, output: "" }),
      gate: { locate: async () => ({ root: "/", display: ".", exists: true }), protectedBelow: async () => [] },
      audit: null,
      background: { run: () => undefined },
      stopping: new AbortController().signal,
      clock: { monotonic: () => 0 },
      logger: quietLogger,
    });
    const hooks = [...guards, ...actions, ...(await sessionSummary.create({ summarize: async () => undefined }))];
    expect(names("hook")).toEqual([...new Set(hooks.map(({ name }) => name))]);
  });

  it("knows each service of the providers once, by a kind that its provider serves", () => {
    for (const { kinds, services } of PROVIDERS) {
      for (const service of services) expect(kinds).toContain(service.kind);
    }
    const ids = PROVIDERS.flatMap(({ services }) => services.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is read without loading a plugin", () => {
    const loaded = `import { registerHooks } from "node:module";
      const seen = [];
      registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
      await import(${JSON.stringify(new URL("../../../runtime/plugins/manifests.ts", import.meta.url).href)});
      process.stdout.write(seen.filter((url) => !/\\/manifests?\\.ts$/.test(url)).join("\\n"));`;
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", loaded], {
      encoding: "utf8",
    });
    expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
  });
});

describe("plugins", () => {
  it("tell what of the configuration uses them", async () => {
    const plugins = await listPlugins(await installed(), "1.0.0");
    expect(pluginInfo(plugins, "offline")).toMatchObject({ kind: "provider", used_by: ["providers.a"] });
    expect(pluginInfo(plugins, "xai").used_by).toEqual(["providers.b"]);
    expect(pluginInfo(plugins, "embedded").used_by).toEqual(["memory.embedded"]);
    expect(pluginInfo(plugins, "postgres").used_by).toEqual([]);
    expect(() => pluginInfo(plugins, "nothing")).toThrow(/There is no plugin nothing/);
  });

  it("of plugin_dirs are listed, the broken ones with what is wrong", async () => {
    const dir = await pluginDirectory({
      good: JSON.stringify({
        name: "weather",
        version: "2.1.0",
        description: "Rain",
        cairn: { kind: "tool", contract: 1 },
      }),
      nothing: JSON.stringify({ name: "left-pad" }),
      broken: "{",
      other: JSON.stringify({ name: "other", cairn: { kind: "tool" } }),
      newer: JSON.stringify({ name: "newer", cairn: { kind: "tool", contract: 2 } }),
      shell: JSON.stringify({ name: "@me/shell", cairn: { kind: "tool", contract: 1 } }),
      again: JSON.stringify({ name: "rain", cairn: { kind: "hook", contract: 1, id: "zephyr" } }),
      zephyr: JSON.stringify({ name: "zephyr", cairn: { kind: "tool", contract: 1 } }),
      big: JSON.stringify({ name: "Big", cairn: { kind: "tool", contract: 1 } }),
      schema: JSON.stringify({
        name: "schema",
        cairn: { kind: "tool", contract: 1, settings: { type: "object", properties: 1 } },
      }),
      thing: JSON.stringify({ name: "thing", cairn: { kind: "thing", contract: 1 } }),
    });
    await mkdir(join(dir, "empty"));
    const plugins = await listPlugins(await installed(`plugin_dirs: [${dir}, ${dir}/none]\n`), "1.0.0");
    const own = plugins.filter(({ source }) => source === "directory");
    expect(own.map(({ name, kind, problem }) => [name, kind, problem])).toEqual([
      ["zephyr", "hook", null],
      [
        "Big",
        "tool",
        "its package.json: cairn.id must be small letters, digits, - and _, at most 63, starting with a letter",
      ],
      ["broken", null, "its package.json is not JSON"],
      ["empty", null, "it has no package.json"],
      ["weather", "tool", null],
      ["newer", null, "its package.json: cairn.contract is 2, and this version of Cairn loads plugins of contract 1"],
      [
        "nothing",
        null,
        'its package.json: cairn must say what the plugin is, such as { "kind": "tool", "contract": 1 }',
      ],
      ["other", null, "its package.json: cairn.contract must be 1, the version of what the plugin was written for"],
      ["schema", "tool", expect.stringMatching(/cairn\.settings is no JSON Schema that can be used/)],
      ["shell", "tool", "shell is a name of Cairn's own"],
      ["thing", null, "its package.json: cairn.kind must be one of provider, channel, tool, hook"],
      ["zephyr", "tool", `${join(dir, "again")} is zephyr already`],
      ["none", null, expect.stringContaining("cannot be read")],
    ]);
    expect(pluginInfo(plugins, "weather")).toMatchObject({
      version: "2.1.0",
      about: "Rain",
      path: join(dir, "good"),
      configuration: "plugins.weather",
    });
  });

  it("whose files others can write, or that are others', are named", async () => {
    const dir = await pluginDirectory({
      open: JSON.stringify({ name: "open", cairn: { kind: "tool", contract: 1 } }),
      led: JSON.stringify({ name: "led", cairn: { kind: "tool", contract: 1 } }),
      kept: JSON.stringify({ name: "kept", cairn: { kind: "tool", contract: 1 } }),
      grouped: JSON.stringify({ name: "grouped", cairn: { kind: "tool", contract: 1 } }),
      shared: JSON.stringify({ name: "shared", cairn: { kind: "tool", contract: 1 } }),
    });
    await chmod(join(dir, "grouped", "package.json"), 0o620);
    await chmod(join(dir, "shared"), 0o702);
    await chmod(join(dir, "open", "package.json"), 0o666);
    await symlink("/etc/hostname", join(dir, "led", "index.js"));
    const plugins = await listPlugins(await installed(`plugin_dirs: [${dir}]\n`), "1.0.0");
    const problem = (name: string) => pluginInfo(plugins, name).problem;
    expect(problem("open")).toContain(`others can write to ${join(dir, "open", "package.json")}`);
    expect(problem("led")).toBe(`${join(dir, "led", "index.js")} is a link that leads outside`);
    expect(problem("kept")).toBeNull();
    expect(problem("grouped")).toContain(`others can write to ${join(dir, "grouped", "package.json")}`);
    expect(problem("shared")).toContain(`others can write to ${join(dir, "shared")}`);
    // Files of root are as good as the service's own: as root, somebody else has to have one.
    const user = getuid?.() ?? 0;
    if (user === 0) await chown(join(dir, "kept", "package.json"), 65_534, 65_534);
    const problemOfOther = await pluginAccessProblem(join(dir, "kept"), user === 0 ? 0 : user + 1);
    expect(problemOfOther).toMatch(/belongs to another user$/);
  });
});
