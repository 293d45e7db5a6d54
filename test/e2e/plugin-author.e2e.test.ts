/**
 * Plugins of somebody who has the packed package and docs/plugins.md, and nothing of the source tree: they are checked by the
 * compiler, pass the checks of their kind, and a node runs them.
 */

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { x as extract } from "tar";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { cairn } from "../support/commands.ts";
import { eventually } from "../support/eventually.ts";
import { createDeployment, startNode } from "../support/node-process.ts";

/** Compiles with everything that the package's own types say checked, too. */
const STRICT = ["--strict", "--module", "nodenext", "--moduleResolution", "nodenext", "--skipLibCheck", "false"];

describe("the author of a plugin", { concurrent: false }, () => {
  let author: string;
  let bin: string;

  beforeAll(async () => {
    author = await mkdtemp(join(tmpdir(), "cairn-author-"));
    const modules = join(author, "node_modules");
    const installed = join(modules, "cairn-agents");
    await mkdir(installed, { recursive: true });
    await mkdir(join(modules, "@types"));
    await execa("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", author], { cwd: ROOT });
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    await extract({ file: join(author, `cairn-agents-${version}.tgz`), cwd: installed, strip: 1 });
    // What npm would install with it.
    await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
    for (const name of ["typescript", "@types/node"])
      await symlink(join(ROOT, "node_modules", name), join(modules, name));
    bin = join(installed, "bin", "cairn.js");
  });

  afterAll(() => rm(author, { recursive: true, force: true }));

  const run = (folder: string, ...argv: string[]) =>
    execa(process.execPath, argv, {
      cwd: join(author, folder),
      env: { PATH: process.env["PATH"] ?? "", HOME: author },
      extendEnv: false,
    });
  const compile = (folder: string, ...more: string[]) =>
    run(folder, join(author, "node_modules", "typescript", "bin", "tsc"), ...more);

  /** The blocks of a language, in the order of the page. */
  async function blocks(language: string): Promise<string[]> {
    const page = await readFile(join(ROOT, "docs", "plugins.md"), "utf8");
    return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, text = ""]) => text);
  }

  it.each(["tool", "hook"])("gets a %s that compiles and passes its own test", async (kind) => {
    await run(".", bin, "plugin", "init", `first-${kind}`, "--kind", kind);
    await compile(`first-${kind}`, ...STRICT, "--project", ".");
    const { stdout } = await run(`first-${kind}`, "--test");
    expect(stdout).toMatch(/^ℹ fail 0$/m);
    expect(Number(/^ℹ pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(5);
    // A test that could not fail would say nothing.
    const code = join(author, `first-${kind}`, "index.ts");
    const text = await readFile(code, "utf8");
    await writeFile(
      code,
      text.replace(/^( +)(async (?:execute|run)\(.*)$/m, "$1$2\n$1  return { content: 1 } as never;"),
    );
    await expect(run(`first-${kind}`, "--test")).rejects.toMatchObject({ exitCode: 1 });
    await writeFile(code, text);
  });

  it("installs the Cairn that wrote the plugin: its version, or the source tree, whose version may be in no registry", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const written = async (program: string, name: string): Promise<unknown> => {
      await run(".", program, "plugin", "init", name);
      return JSON.parse(await readFile(join(author, name, "package.json"), "utf8"));
    };
    expect(await written(bin, "by-package")).toMatchObject({ devDependencies: { "cairn-agents": version } });
    const fromTree = { devDependencies: { "cairn-agents": `file:${ROOT}` } };
    expect(await written(join(ROOT, "bin", "cairn.js"), "by-tree")).toMatchObject(fromTree);
  });

  it("can use the manifest, the tool and the test that the page shows", async () => {
    const [manifest = ""] = await blocks("json");
    const [code = "", test = ""] = await blocks("js");
    const folder = join(author, "weather");
    await mkdir(folder);
    await writeFile(join(folder, "package.json"), manifest);
    await writeFile(join(folder, "index.js"), code);
    await writeFile(join(folder, "index.test.js"), test);
    await compile("weather", ...STRICT, "--noEmit", "--allowJs", "--checkJs", "--types", "node", "index.js");
    const { stdout } = await run("weather", "--test");
    expect(stdout).toMatch(/^ℹ fail 0$/m);
  });

  it("has its tool called in a turn, from an archive, and its hook run, from a folder", async () => {
    await run(".", bin, "plugin", "init", "worldtime");
    await run(".", bin, "plugin", "init", "house-rules", "--kind", "hook");
    await execa("npm", ["pack", "--silent"], { cwd: join(author, "worldtime") });

    const seen: { readonly text: string; readonly results: readonly string[] }[] = [];
    const fake = await startOpenAiFake({
      script: ({ step, lastUser: text, results }) => {
        seen.push({ text, results: results.map((result) => result.text) });
        if (step > 0) return { text: "Late." };
        return { toolCalls: [{ id: "c1", name: "worldtime", arguments: { zone: "Asia/Tokyo" } }] };
      },
    });
    onTestFinished(() => fake.close());
    const model = { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "${KEY}" };
    const deployment = await createDeployment({
      config: { agents: { main: { provider: "model" } }, providers: { model } },
      env: { KEY: "none-of-yours-0123" },
    });
    onTestFinished(() => deployment.remove());
    await cairn(deployment, "plugin", "add", join(author, "worldtime", "worldtime-0.1.0.tgz"));
    await cairn(deployment, "plugin", "add", join(author, "house-rules"));

    const node = await startNode(deployment);
    onTestFinished(async () => {
      node.signal("SIGTERM");
      await node.exited;
    });
    const { plugins } = await node.call<{ plugins: readonly object[] }>("/health");
    expect(plugins).toMatchObject([
      { id: "worldtime", state: "loaded", version: "0.1.0", path: expect.stringContaining(deployment.home) },
      { id: "house-rules", state: "loaded", path: join(author, "house-rules") },
    ]);
    await node.call("/api/agents/main/messages", { session: "s", text: "What time is it in Tokyo?" });
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen[0]?.text).toContain("What time is it in Tokyo?\n\nAnswer in one sentence.");
    expect(seen[1]?.results).toEqual([expect.stringMatching(/GMT\+9|JST/)]);
  });
});
