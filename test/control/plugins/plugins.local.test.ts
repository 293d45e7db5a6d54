import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUILT_IN } from "../../../control/plugins/built-in.ts";
import { listPlugins, pluginInfo } from "../../../control/plugins/plugins.ts";
import { autoActions } from "../../../runtime/plugins/hooks/auto-actions/manifest.ts";
import { safety } from "../../../runtime/plugins/hooks/safety/manifest.ts";
import { sessionSummary } from "../../../runtime/plugins/hooks/session-summary/manifest.ts";
import { PROVIDERS } from "../../../runtime/plugins/providers/manifests.ts";
import { builtInTools } from "../../support/built-in-tools.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

async function configOf(more = "") {
  const { loaded } = await inspectText(
    `version: 1\nagents:\n  main: { provider: a }\nproviders:\n  a: { kind: offline }\n  b: { kind: xai, model: m, api_key: k }\n${more}`,
  );
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  return loaded.config;
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
    const plugins = await listPlugins(await configOf(), "1.0.0");
    expect(pluginInfo(plugins, "offline")).toMatchObject({ kind: "provider", used_by: ["providers.a"] });
    expect(pluginInfo(plugins, "xai").used_by).toEqual(["providers.b"]);
    expect(pluginInfo(plugins, "embedded").used_by).toEqual(["memory.embedded"]);
    expect(pluginInfo(plugins, "postgres").used_by).toEqual([]);
    expect(() => pluginInfo(plugins, "nothing")).toThrow(/There is no plugin nothing/);
  });

  it("of plugin_dirs are listed, the broken ones with what is wrong", async () => {
    const dir = await pluginDirectory({
      good: JSON.stringify({ name: "weather", version: "2.1.0", description: "Rain", cairn: { kind: "tool" } }),
      nothing: JSON.stringify({ name: "left-pad" }),
      broken: "{",
      thing: JSON.stringify({ name: "thing", cairn: { kind: "thing" } }),
    });
    await mkdir(join(dir, "empty"));
    const plugins = await listPlugins(await configOf(`plugin_dirs: [${dir}, ${dir}/none]\n`), "1.0.0");
    const own = plugins.filter(({ source }) => source === "directory");
    expect(own).toMatchObject([
      { name: "broken", kind: null, problem: "its package.json is not JSON" },
      { name: "empty", kind: null, problem: "it has no package.json" },
      { name: "weather", kind: "tool", version: "2.1.0", about: "Rain", problem: null, path: join(dir, "good") },
      {
        name: "nothing",
        kind: null,
        problem: 'its package.json: cairn must say what the plugin is, such as { "kind": "tool" }',
      },
      {
        name: "thing",
        kind: null,
        problem: "its package.json: cairn.kind must be one of provider, channel, tool, memory, embedding, hook",
      },
      { name: "none", kind: null, problem: expect.stringContaining("cannot be read") },
    ]);
  });
});
