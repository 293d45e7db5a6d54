import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUILT_IN } from "../../../control/plugins/built-in.ts";
import { listPlugins, pluginInfo } from "../../../control/plugins/plugins.ts";
import { createBuiltinTools } from "../../../runtime/plugins/tools/index.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { silent } from "../../support/silent.ts";

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
    const nothing = {
      memoryTools: {} as never,
      container: false,
      protectedPaths: [],
      stateDirectory: "/",
      hostEnv: {},
      newId: () => "1",
    };
    const tools = createBuiltinTools({ ...nothing, logger: silent });
    expect(names("tool").sort()).toEqual(tools.map(({ name }) => name).sort());
    const folders = async (kind: string, not: readonly string[]) =>
      (await readdir(new URL(`../../../runtime/plugins/${kind}`, import.meta.url)))
        .filter((name) => !not.includes(name))
        .sort();
    expect(names("provider").sort()).toEqual(await folders("providers", ["shared"]));
    expect(names("channel").sort()).toEqual(await folders("channels", []));
    expect(names("memory").sort()).toEqual(await folders("memory", ["wire"]));
  });
});

describe("plugins", () => {
  it("tell what of the configuration uses them", async () => {
    const plugins = await listPlugins(await configOf(), "1.0.0");
    expect(pluginInfo(plugins, "offline")).toMatchObject({ kind: "provider", used_by: ["providers.a"] });
    expect(pluginInfo(plugins, "openai-compatible").used_by).toEqual(["providers.b"]);
    expect(pluginInfo(plugins, "embedded").used_by).toEqual(["memory.embedded"]);
    expect(pluginInfo(plugins, "postgres").used_by).toEqual([]);
    expect(() => pluginInfo(plugins, "nothing")).toThrow(/There is no plugin nothing/);
  });

  it("of plugin_dirs are listed, the broken ones with what is wrong", async () => {
    const dir = await pluginDirectory({
      good: JSON.stringify({ name: "weather", version: "2.1.0", description: "Rain", cairn: { kind: "tool" } }),
      nothing: JSON.stringify({ name: "left-pad" }),
      broken: "{",
    });
    await mkdir(join(dir, "empty"));
    const plugins = await listPlugins(await configOf(`plugin_dirs: [${dir}, ${dir}/none]\n`), "1.0.0");
    const own = plugins.filter(({ source }) => source === "directory");
    expect(own).toMatchObject([
      { name: "broken", kind: null, problem: "its package.json is not JSON" },
      { name: "empty", kind: null, problem: expect.stringContaining("ENOENT") },
      { name: "weather", kind: "tool", version: "2.1.0", about: "Rain", problem: null, path: join(dir, "good") },
      { name: "nothing", kind: null, problem: expect.stringContaining("cairn") },
      { name: "none", kind: null, problem: expect.stringContaining("cannot be read") },
    ]);
  });
});
