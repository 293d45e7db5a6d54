import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderedFiles, renderProject } from "../../infra/render.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { lacks } from "../lanes/tools.ts";
import { temporaryDirectory } from "../support/deployment.ts";
import { imageOf, projectDirectory, TOKEN } from "../support/infra/project.ts";

const FILES = [".gitignore", "Pulumi.yaml", "README.md", "index.ts", "package.json", "tsconfig.json"];

const sorted = (names: readonly string[]) => [...names].sort();

async function contents(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(join(dir, "infra"))).filter((name) => name !== "node_modules").sort();
  const texts = await Promise.all(names.map((name) => readFile(join(dir, "infra", name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
}

describe("the rendered project", () => {
  test("is the same bytes each time, and a second rendering writes nothing", async () => {
    const [one, two] = [await temporaryDirectory(), await temporaryDirectory()];
    const first = await renderProject({ dir: one, stack: "fleet" });
    expect(sorted(first.written)).toEqual(FILES);
    const before = await contents(one);
    const again = await renderProject({ dir: one, stack: "fleet" });
    expect(again).toEqual({ directory: join(one, "infra"), written: [], unchanged: [...first.written], kept: [] });
    await renderProject({ dir: two, stack: "fleet" });
    expect(await contents(two)).toEqual(before);
    expect(await contents(one)).toEqual(before);
  });

  test("names the backend and the stack, whatever characters the backend has", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("s3://bucket?region=x&a=b", "file:///a b/c", "https://h:1/x#y", "azblob://c: d"),
        async (backend) => {
          const { parse } = await import("yaml");
          const files = await renderedFiles({ stack: "fleet", backend });
          expect(parse(files.get("Pulumi.yaml") ?? "")).toMatchObject({
            name: "cairn",
            backend: { url: backend },
            main: "index.ts",
          });
        },
      ),
      { numRuns: 8 },
    );
    const secret = await renderedFiles({ stack: "fleet", backend: "postgres://me:pa55word@h/pulumi" });
    expect(secret.get("Pulumi.yaml")).toContain("postgres://me@h/pulumi");
    const files = await renderedFiles({ stack: "fleet" });
    expect(files.get("Pulumi.yaml")).toContain("file://./state");
    expect(files.get("README.md")).toContain("PULUMI_CONFIG_PASSPHRASE_FILE=.passphrase");
    expect(files.get("README.md")).toContain("pulumi up --stack fleet");
    expect([...files.values()].join("")).not.toContain("{{");
  });

  test("keeps what was changed by hand, says so, and writes over it only by force, with a copy", async () => {
    const dir = await temporaryDirectory();
    await renderProject({ dir, stack: "fleet" });
    const path = join(dir, "infra", "index.ts");
    await writeFile(path, "// mine\n");
    for (let times = 0; times < 2; times++) {
      expect(await renderProject({ dir, stack: "fleet" })).toMatchObject({ kept: ["index.ts"], written: [] });
      expect(await readFile(path, "utf8")).toBe("// mine\n");
    }
    expect(await renderProject({ dir, stack: "fleet", force: true })).toMatchObject({
      kept: [],
      written: ["index.ts"],
    });
    expect(await readFile(path, "utf8")).toContain("createProgram");
    expect(await readFile(`${path}.bak`, "utf8")).toBe("// mine\n");
  });

  test("brings a file that was not changed up to date", async () => {
    const dir = await temporaryDirectory();
    await renderProject({ dir, stack: "old" });
    expect(await renderProject({ dir, stack: "new" })).toMatchObject({ kept: [], written: ["README.md"] });
  });

  test("takes files that it did not write for somebody's own", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "infra"));
    await writeFile(join(dir, "infra", "package.json"), "{}\n");
    await writeFile(join(dir, "infra", ".rendered.json"), "broken");
    expect(await renderProject({ dir, stack: "fleet" })).toMatchObject({ kept: ["package.json"] });
    expect(await readFile(join(dir, "infra", "package.json"), "utf8")).toBe("{}\n");
  });

  const OWN = [
    "Pulumi.fleet.yaml",
    ".passphrase",
    "release.json",
    "state/x.json",
    "state.old/x.json",
    "state-copies/y.json",
    "lost/2030/stack.json",
    "stack.json",
  ];
  /** A directory in which the stack's own files stand. */
  async function withOwnFiles(): Promise<string> {
    const dir = await temporaryDirectory();
    for (const name of OWN) {
      await mkdir(dirname(join(dir, "infra", name)), { recursive: true });
      await writeFile(join(dir, "infra", name), `own ${name}`);
    }
    return dir;
  }

  test("never touches state, passphrase, release and the stack's settings", async () => {
    const dir = await withOwnFiles();
    await renderProject({ dir, stack: "fleet" });
    await renderProject({ dir, stack: "fleet", force: true });
    for (const name of OWN) expect(await readFile(join(dir, "infra", name), "utf8")).toBe(`own ${name}`);
  });

  test.skipIf(lacks("git"))("gives git the project, and nothing of the state", async () => {
    const dir = await withOwnFiles();
    await renderProject({ dir, stack: "fleet" });
    const { stdout } = await execa("git", ["-c", "init.defaultBranch=main", "init", "-q"], { cwd: dir }).then(() =>
      execa("git", ["status", "--porcelain", "-uall"], { cwd: dir }),
    );
    const tracked = stdout.split("\n").map((line) => line.slice(3));
    expect(sorted(tracked)).toEqual(
      sorted([...FILES, ".rendered.json", "Pulumi.fleet.yaml", "release.json"].map((name) => `infra/${name}`)),
    );
  });

  test("never writes through a link", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "infra"));
    await writeFile(join(dir, "elsewhere"), "not mine");
    await symlink(join(dir, "elsewhere"), join(dir, "infra", "index.ts"));
    const error = await renderProject({ dir, stack: "fleet", force: true }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InfraError);
    expect(await readFile(join(dir, "elsewhere"), "utf8")).toBe("not mine");
  });

  test("says where it could not write", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "infra"), "a file");
    await expect(renderProject({ dir, stack: "fleet" })).rejects.toMatchObject({
      code: "INFRA_FAILED",
      details: { hint: expect.any(String) },
    });
  });

  test("leaves packages alone that somebody has installed, and follows the installation when it moves", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "infra", "node_modules", "@pulumi", "pulumi"), { recursive: true });
    await symlink("/nowhere", join(dir, "infra", "node_modules", "cairn"));
    await renderProject({ dir, stack: "fleet" });
    expect((await stat(join(dir, "infra", "node_modules", "cairn", "package.json"))).isFile()).toBe(true);
    expect(await readdir(join(dir, "infra", "node_modules", "@pulumi", "pulumi"))).toEqual([]);
    expect(await readdir(join(dir, "infra", "node_modules"))).toEqual(["@pulumi", "cairn"]);
    await rm(join(dir, "infra", "node_modules"), { recursive: true });
  });
});

describe("pulumi by hand in the rendered project", () => {
  // Not Kubernetes: loading its SDK takes seconds, twice, and the way there is the same.
  test.each([
    ["docker", "target: docker"],
    [
      "proxmox",
      'target: proxmox, proxmox: { host: pve, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", postgres_address: 10.0.0.9/24 }',
    ],
  ])("registers what the commands register: %s", async (_name, target) => {
    const dir = await projectDirectory(
      `version: 1
agents: { main: {} }
providers: { offline: {} }
deployment: { ${target}, name: fleet, datahub: { postgres: true, shared_storage: true }, nodes: [{ name: one }, { name: two }] }
`,
      {
        files: {
          "workspace/AGENTS.md": "# Agents\n",
          "infra/release.json": JSON.stringify({ schema: 1, built: imageOf("a"), nodes: {} }),
        },
      },
    );
    await renderProject({ dir, stack: "fleet" });
    expect(JSON.stringify(await contents(dir))).not.toContain(TOKEN);
    const run = async (kind: string): Promise<{ registered: { type: string; name: string }[]; outputs: unknown }> => {
      const support = new URL("../support/infra/", import.meta.url);
      const script = ["--import", new URL("from-source.mjs", support).href, new URL("registered.ts", support).pathname];
      const { stdout } = await execa(process.execPath, [...script, kind, dir], {
        env: { HOME: dir },
        stderr: "inherit",
      });
      return JSON.parse(stdout);
    };
    const [inline, rendered] = await Promise.all([run("inline"), run("rendered")]);
    expect(rendered).toEqual(inline);
    expect(inline.registered.filter(({ type }) => type === "cairn:index:Stack").map(({ name }) => name)).toEqual([
      "fleet",
    ]);
    expect(inline.registered.length).toBeGreaterThan(8);
    expect(inline.outputs).toMatchObject({ nodes: [{ name: "one" }, { name: "two" }] });
  });
});
