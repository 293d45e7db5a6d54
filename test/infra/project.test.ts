import { mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Release } from "../../infra/plan/types.ts";
import { readProject } from "../../infra/project.ts";
import { readRelease, writeRelease } from "../../infra/release.ts";
import { readSeeds } from "../../infra/seeds.ts";
import { bareEnvironment, temporaryDirectory } from "../support/deployment.ts";
import { AGENTS, imageOf, projectDirectory, projectOf } from "../support/infra/project.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace } from "../support/planted-files.ts";

const DOCKER = `${AGENTS}deployment: { target: docker }\n`;

describe("release.json", () => {
  const letter = fc.constantFrom("a", "b", "0", "f");
  const image = fc.record({
    id: fc.option(
      letter.map((digit) => `sha256:${digit.repeat(64)}`),
      { nil: null },
    ),
    digest: fc.option(
      letter.map((digit) => `registry.example.org:5000/team/cairn@sha256:${digit.repeat(64)}`),
      { nil: null },
    ),
    reference: fc.constantFrom("cairn:1.2.3", "registry.example.org:5000/team/cairn:1.2.3-rc.1"),
    version: fc.constantFrom("1.2.3", "0.1.0-dev"),
    revision: fc.option(fc.constant("0123abc"), { nil: null }),
  });
  const release: fc.Arbitrary<Release> = fc.record({
    schema: fc.constant(1 as const),
    built: fc.option(image, { nil: null }),
    nodes: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/), image, { maxKeys: 4 }),
  });

  test("is read as it was written, in the same bytes whatever the order of the nodes", async () => {
    const dir = await temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(release, async (value) => {
        await writeRelease(dir, value);
        expect(await readRelease(dir)).toEqual(value);
        const text = await readFile(join(dir, "infra", "release.json"), "utf8");
        await writeRelease(dir, { ...value, nodes: Object.fromEntries(Object.entries(value.nodes).reverse()) });
        expect(await readFile(join(dir, "infra", "release.json"), "utf8")).toBe(text);
      }),
      { numRuns: 40 },
    );
  });

  test("that is missing is an empty one; one that is broken is refused, never taken for empty", async () => {
    const dir = await temporaryDirectory();
    expect(await readRelease(dir)).toEqual({ schema: 1, built: null, nodes: {} });
    const whole = JSON.stringify({ schema: 1, built: imageOf("a"), nodes: { one: imageOf("b") } });
    await mkdir(join(dir, "infra"));
    const broken = [
      "",
      whole.slice(0, 60),
      "[]",
      '{"schema":2,"built":null,"nodes":{}}',
      whole.replace("sha256:aaaa", "sha256:; rm -rf /"),
      whole.replace("cairn:1.2.3", "-v /:/host"),
      whole.replace('"one"', '"../one"'),
    ];
    for (const text of broken) {
      await writeFile(join(dir, "infra", "release.json"), text);
      await expect(readRelease(dir)).rejects.toMatchObject({
        code: "INFRA_STATE_UNREADABLE",
        details: { hint: expect.any(String) },
      });
    }
  });

  test("gives each node its image, and the newest one to a node that has none", async () => {
    const { plan } = await projectOf(
      `${AGENTS}deployment: { target: docker, nodes: [{ name: one }, { name: two }] }\n`,
      {
        files: {
          "infra/release.json": JSON.stringify({
            schema: 1,
            built: imageOf("b"),
            nodes: { one: imageOf("a"), gone: imageOf("c") },
          }),
        },
      },
    );
    expect(plan.nodes.map(({ image }) => image?.id?.slice(7, 8))).toEqual(["a", "b"]);
    expect((await projectOf(DOCKER)).plan.nodes[0]?.image).toBeNull();
  });
});

describe("workspace files", () => {
  test("travel when they are regular text files of a bounded size, in the order of their names", async () => {
    const dir = await temporaryDirectory();
    const ws = join(dir, "ws");
    await mkdir(join(ws, "sub", ".hidden"), { recursive: true });
    await mkdir(join(ws, ".git"));
    const files: [string, string | Uint8Array][] = [
      ["b.md", "b"],
      ["a.md", "ä"],
      ["sub/c.md", "c"],
      ["sub/.hidden/d.md", "d"],
      [".git/config", "x"],
      [".env", "KEY=secret-value"],
      ["binary", new Uint8Array([1, 0, 2])],
      ["latin1", new Uint8Array([0xe4, 0xf6])],
      ["large.md", "x".repeat(256 * 1024 + 1)],
      ["secret.md", "the key is secret-value, keep it"],
      ["odd:name.md", "x"],
    ];
    for (const [name, content] of files) await writeFile(join(ws, name), content);
    await symlink("/etc/passwd", join(ws, "link.md"));
    await symlink("/etc", join(ws, "folder-link"));
    const { files: found, warnings } = await readSeeds({
      roots: [{ name: "workspace", source: ws, agents: ["main"] }],
      dir: join(dir, "deployment"),
      secrets: ["secret-value", "x"],
    });
    expect(found).toEqual([
      { root: "workspace", path: "a.md", content: "ä" },
      { root: "workspace", path: "b.md", content: "b" },
      { root: "workspace", path: "sub/c.md", content: "c" },
    ]);
    const skipped = Object.fromEntries(warnings.map(({ path, message }) => [path.slice(ws.length + 1), message]));
    expect(skipped).toMatchObject({
      binary: expect.stringContaining("no text"),
      latin1: expect.stringContaining("no text"),
      "large.md": expect.stringContaining("256 KiB"),
      "secret.md": expect.stringContaining("secret"),
      "link.md": expect.stringContaining("symbolic link"),
      "folder-link": expect.stringContaining("symbolic link"),
      "odd:name.md": expect.stringContaining("name"),
    });
    expect(JSON.stringify(warnings)).not.toContain("secret-value");
  });

  test.each(Object.keys(PLANTS))("never bring along %s", async (kind) => {
    const place = await plantedPlace();
    await writeFile(join(place.workspace, "kept.md"), "kept");
    for (const name of ["CORE.md", "sub/deep/SOUL.md"]) {
      await mkdir(dirname(join(place.workspace, name)), { recursive: true });
      await PLANTS[kind]?.(join(place.workspace, name), place);
      await rm(join(place.workspace, `${name}.step`), { force: true });
    }
    const { files, warnings } = await readSeeds({
      roots: [{ name: "workspace", source: place.workspace, agents: ["main"] }],
      dir: join(place.base, "deployment"),
      secrets: [],
    });
    // A directory is no file of its name; what is in it is an agent's own.
    const own = files.filter(({ path }) => !path.endsWith("/secret.md"));
    expect(own).toEqual([{ root: "workspace", path: "kept.md", content: "kept" }]);
    expect(warnings).toHaveLength(kind === "a directory" ? 0 : 2);
    if (kind !== "a directory") expect(JSON.stringify(files)).not.toContain(PLANTED_SECRET);
  });

  test("stop travelling where they are too much together", async () => {
    const dir = await temporaryDirectory();
    for (const name of ["a", "b", "c", "d"]) await writeFile(join(dir, name), name.repeat(200 * 1024));
    const { files, warnings } = await readSeeds({
      roots: [{ name: "workspace", source: dir, agents: [] }],
      dir: "/nowhere",
      secrets: [],
    });
    expect(files.map(({ path }) => path)).toEqual(["a", "b", "c"]);
    expect(warnings[0]?.message).toContain("768 KiB");
  });

  test("are none where the workspace is the deployment directory itself, or missing", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "cairn.yaml"), "x");
    const roots = [
      { name: "workspace", source: dir, agents: [] },
      { name: "agents/x", source: join(dir, "missing"), agents: [] },
    ];
    const { files, warnings } = await readSeeds({ roots, dir, secrets: [] });
    expect(files).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining("deployment directory")]);
  });
});

describe("a project", () => {
  test("is read and nothing is changed", async () => {
    const dir = await projectDirectory(DOCKER, { files: { "workspace/A.md": "a" } });
    const before = await stat(dir);
    await readProject({ dir, home: join(dir, "home"), env: bareEnvironment() });
    expect((await stat(dir)).mtimeMs).toBe(before.mtimeMs);
  });

  test("has the version of the program, and needs no SERVICE_PG_URL for a database that it deploys", async () => {
    const dir = await projectDirectory(`${AGENTS}deployment: { target: docker, datahub: { postgres: true } }\n`);
    const { plan, secrets } = await readProject({ dir, home: join(dir, "home"), env: bareEnvironment() });
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(plan.version).toBe(version);
    expect(plan.nodes[0]?.secretVariables).toContain("SERVICE_PG_URL");
    expect(secrets.variables).not.toHaveProperty("SERVICE_PG_URL");
  });

  test("asks the password manager once a secret, and says which one cannot be read", async () => {
    const asked: string[] = [];
    const yaml = `version: 1\nagents: { main: { provider: openai } }\nproviders: { openai: { model: m, api_key: op://v/i/f } }\ntools: { shell: { env: [OTHER] } }\ndeployment: { target: docker }\n`;
    const { secrets } = await projectOf(yaml, {
      variables: "OTHER=op://v/i/f\n",
      readSecret: async (reference) => {
        asked.push(reference);
        return "value-of-the-vault";
      },
    });
    expect(asked).toEqual(["op://v/i/f"]);
    expect(secrets.variables).toMatchObject({
      OTHER: "value-of-the-vault",
      SERVICE_SECRET_PROVIDERS_OPENAI_API_KEY: "value-of-the-vault",
    });
    const { ConfigError } = await import("../../runtime/contracts/errors.ts");
    const refused = projectOf(`${DOCKER}tools: { shell: { env: [OTHER] } }\n`, {
      variables: "OTHER=op://v/i/f\n",
      readSecret: (reference) =>
        Promise.reject(new ConfigError("CONFIG_SECRET_UNRESOLVED", `${reference} could not be read`)),
    });
    await expect(refused).rejects.toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining("OTHER"),
    });
  });

  test("says when a certificate cannot be read", async () => {
    const read = projectOf(`${DOCKER}runtime: { tls: { cert: none.pem, key: none.key } }\n`);
    await expect(read).rejects.toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining("runtime.tls.cert"),
    });
  });

  test("stops when it is told to", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(projectOf(DOCKER, { signal, files: { "workspace/A.md": "a" } })).rejects.toThrow("enough");
  });
});
