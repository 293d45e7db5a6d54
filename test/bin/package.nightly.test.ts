/** The package as it is published: packed, installed globally by npm from the registry of this machine, and used from there. */

import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { BUNDLED } from "../../scripts/lib/bundled.js";
import { ROOT } from "../../scripts/lib/paths.js";
import { pathWithEngine } from "../lanes/pulumi/engine.ts";
import { lacks } from "../lanes/tools.ts";
import { imageOf } from "../support/infra/project.ts";
import { NO_MODEL_SERVERS } from "../support/no-model-servers.js";

const LIMIT = 200_000_000;

describe("the installed package", { concurrent: false }, () => {
  let base: string;
  let prefix: string;
  let home: string;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), "cairn-package-"));
    prefix = join(base, "prefix");
    home = join(base, "home");
    await mkdir(home);
    const npm = (...args: readonly string[]) => execa("npm", [...args, "--no-audit", "--no-fund"], { cwd: ROOT });
    await npm("pack", "--ignore-scripts", "--pack-destination", base);
    const [archive = ""] = (await readdir(base)).filter((name) => name.endsWith(".tgz"));
    await npm("install", "--global", "--prefix", prefix, join(base, archive));
  });

  afterAll(() => rm(base, { recursive: true, force: true }));

  const folder = (): string => join(prefix, "lib", "node_modules", "cairn-agents");

  async function cairn(...args: readonly string[]): Promise<string> {
    const { stdout } = await execa(join(prefix, "bin", "cairn"), [...args], {
      cwd: home,
      env: {
        PATH: pathWithEngine(),
        HOME: home,
        PULUMI_HOME: process.env["PULUMI_HOME"] ?? join(homedir(), ".pulumi"),
        SERVICE_LISTEN: "127.0.0.1:0",
        ...NO_MODEL_SERVERS,
      },
      extendEnv: false,
      stdin: "ignore",
    });
    return stdout;
  }

  it("takes less than 200 MB of the disk, with everything that it needs", async () => {
    const entries = await readdir(prefix, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).blocks));
    expect(sizes.reduce((sum, blocks) => sum + blocks * 512, 0)).toBeLessThan(LIMIT);
    expect(files.filter(({ name }) => name.endsWith(".js.map") && !name.startsWith("."))).not.toContainEqual(
      expect.objectContaining({ parentPath: expect.stringContaining("cairn-agents/dist") }),
    );
  });

  it("has the schemas that help texts name", async () => {
    expect(await readdir(join(folder(), "docs", "schemas"))).toContain("infra-preview.schema.json");
  });

  it("carries the licences of what it was made from", async () => {
    for (const [room, packages] of Object.entries(BUNDLED)) {
      const notice = await readFile(join(folder(), "dist", room, "packages", "NOTICE"), "utf8");
      for (const name of packages) expect(notice).toMatch(new RegExp(`^${name} \\d`, "m"));
      expect(await readdir(join(folder(), "node_modules"))).not.toContain(packages[0]?.split("/")[0]);
    }
  });

  it("starts from nothing, remembers and finds it again", async () => {
    expect(await cairn("--version")).toMatch(/^cairn \d+\.\d+\.\d+ \(node /);
    await cairn("init", "--yes");
    const { pid } = JSON.parse(await cairn("start", "--detach", "--json"));
    onTestFinished(async () => void (await cairn("stop").catch(() => process.kill(pid, "SIGKILL"))));
    await cairn("chat", "The harbour master is called Ottilie.");
    expect(await cairn("chat", "Who is the harbour master?")).toContain("Ottilie");
    expect(await cairn("memory", "search", "Ottilie")).toContain("harbour master");
  });

  describe.skipIf(lacks("pulumi-docker", "pulumi-command", "docker"))("with Pulumi's engine", () => {
    it("says what a deployment would make", async () => {
      const dir = join(home, "deployment");
      await mkdir(join(dir, "infra"), { recursive: true });
      await mkdir(join(dir, "workspace"));
      await writeFile(join(dir, ".env"), "SERVICE_API_TOKEN=cairn_test-token-of-a-package\n", { mode: 0o600 });
      await writeFile(
        join(dir, "cairn.yaml"),
        "version: 1\nagents: { main: {} }\nproviders: { offline: {} }\nmemory: { postgres: {} }\n" +
          "deployment: { name: packaged, target: docker, nodes: [{ name: one }], datahub: { postgres: true } }\n",
      );
      await writeFile(
        join(dir, "infra", "release.json"),
        JSON.stringify({ schema: 1, built: imageOf("a"), nodes: {} }),
      );
      const { changes } = JSON.parse(await cairn("infra", "preview", "--dir", dir, "--json"));
      const names = changes.map(({ op, name }: { op: string; name: string }) => `${op} ${name}`);
      expect(names).toContain("create packaged-one");
      expect(names).toContain("create packaged-postgres-data");
    });
  });
});
