/** Images that a real engine builds, and containers that it runs from them. */

import { existsSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { type BuildDeployment, buildImage } from "../../../control/deploy/build/build.ts";
import { buildResult } from "../../../control/deploy/build/schema.ts";
import { type BuildRequest, type BuildResult, identityOfResult } from "../../../control/deploy/build/types.ts";
import { inspectImage } from "../../../control/deploy/images/inspect.ts";
import { readRelease } from "../../../infra/release.ts";
import { ROOT } from "../../../scripts/lib/paths.js";
import { MINIMAL, temporaryDirectory } from "../../support/deployment.ts";
import {
  createVolume,
  docker,
  dockerOutcome,
  inspect,
  runContainer,
  uniqueName,
} from "../../support/docker/containers.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import type { TestImages } from "../../support/docker/names.ts";
import { startRegistry } from "../../support/docker/registry.ts";

const TOKEN = "cairn_test-token-of-a-container";
const LIMIT_ABOVE_BASE = 150_000_000;
const NOTHING: BuildDeployment = { directory: null, pluginDirs: [], skillDirs: [], registry: null };

let images: TestImages;
let installed: string;
let built: BuildResult;
const tags = new Set<string>();

interface Changes extends Partial<Omit<BuildRequest, "tags">> {
  readonly root?: string;
  readonly tag?: string;
  readonly deployment?: Partial<BuildDeployment>;
  readonly signal?: AbortSignal;
  readonly report?: (text: string) => void;
}

function build({
  root = installed,
  tag = `${uniqueName("build")}:1`,
  deployment,
  signal,
  report,
  ...changes
}: Changes = {}): Promise<BuildResult> {
  tags.add(tag);
  return buildImage(
    {
      baseImage: images.node,
      tags: () => [tag],
      push: false,
      load: true,
      platforms: [],
      noCache: false,
      network: null,
      npmrc: null,
      packages: [],
      ...changes,
    },
    { ...NOTHING, ...deployment },
    {
      root,
      signal: signal ?? new AbortController().signal,
      report: report ?? (() => undefined),
      warn: () => undefined,
    },
  );
}

/** What a package manager would have put there: no sources, no scripts. */
async function installPackage(to: string, from = installed): Promise<string> {
  for (const name of ["package.json", "oclif.manifest.json", "LICENSE", "bin", "dist", "migrations", "templates"]) {
    await cp(join(from, name), join(to, name), { recursive: true });
  }
  return to;
}

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

/** Prints what a program says in a container of the image that has no network. */
function inImage(image: string, program: string, ...options: readonly string[]): Promise<string> {
  return docker(
    "run",
    "--rm",
    "--network",
    "none",
    "--entrypoint",
    "node",
    ...options,
    image,
    "--input-type=module",
    "-e",
    program,
  );
}

async function startNode(): Promise<{ readonly id: string; readonly url: string }> {
  const config = join(await write(await temporaryDirectory(), { "cairn.yaml": MINIMAL }), "cairn.yaml");
  const home = await createVolume("home");
  const work = await createVolume("work");
  const id = await runContainer(
    ...["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp"],
    ...["--publish", "127.0.0.1::7433", "--env", `SERVICE_API_TOKEN=${TOKEN}`],
    ...["--volume", `${home}:/var/lib/cairn`, "--volume", `${work}:/srv/cairn`],
    ...["--volume", `${config}:/etc/cairn/cairn.yaml:ro`, built.reference],
  );
  await expect.poll(() => inspect(id, "{{.State.Health.Status}}"), { interval: 250 }).toBe("healthy");
  const address = (await docker("port", id, "7433")).split("\n")[0];
  return { id, url: `http://${address}` };
}

beforeAll(async () => {
  images = await ensureTestImages();
  await execa(process.execPath, [join(ROOT, "scripts", "build.js")], { cwd: ROOT });
  // Lives as long as the file's tests, not as one of them.
  installed = await installPackage(await mkdtemp(join(tmpdir(), "cairn-test-package-")), ROOT);
  await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
  built = await build();
}, IMAGES_TIMEOUT_MS);

afterAll(async () => {
  for (const tag of tags) await dockerOutcome("image", "rm", "--force", tag);
  await rm(installed, { recursive: true, force: true });
});

describe("the image", () => {
  it("is known by its id, its labels and its size", async () => {
    const image = await inspectImage(built.reference);
    expect(built.id).toBe(image?.id);
    expect(built.digest).toBeNull();
    expect(built.platforms).toEqual([image?.platform]);
    expect(image?.labels).toMatchObject({
      "org.opencontainers.image.title": "cairn",
      "org.opencontainers.image.licenses": "Apache-2.0",
      "org.opencontainers.image.version": built.version,
      "org.opencontainers.image.base.name": images.node,
    });
    expect(image?.labels).not.toHaveProperty(["org.opencontainers.image.created"]);
    const base = await inspectImage(images.node);
    expect((built.size_bytes ?? 0) - (base?.sizeBytes ?? 0)).toBeLessThan(LIMIT_ABOVE_BASE);
  });

  it("holds what the runtime needs and nothing of what deploys or tests it", async () => {
    const program = `
      import { readdirSync } from "node:fs";
      const all = readdirSync("/opt/cairn", { recursive: true });
      console.log(JSON.stringify(all.filter((path) => !path.includes("node_modules/") || /node_modules\\/(@[^/]+\\/)?[^/]+$/.test(path))));`;
    const found: string[] = JSON.parse(await inImage(built.reference, program));
    expect(found).toContain("dist/runtime/main.js");
    expect(found).toContain("migrations/001_transcript.sql");
    expect(found).toContain("node_modules/@electric-sql/pglite");
    const refused =
      /pulumi|vitest|typescript|oclif|inquirer|biome|fast-check|dist\/control|dist\/infra|\.env|\.map$|\.d\.ts$/;
    expect(found.filter((path) => refused.test(path))).toEqual([]);
  });

  it("can load every module of the runtime", async () => {
    const program = `
      import { readdirSync } from "node:fs";
      const folder = "/opt/cairn/dist/runtime/";
      const programs = /(^|\\/)(main|thread|create|health-probe)\\.js$/;
      const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".js") && !programs.test(file));
      for (const file of files) await import(folder + file);
      const { createTokenizer } = await import(folder + "domain/tokens.js");
      console.log(files.length, createTokenizer()("four words are here"));`;
    const [files, tokens] = (await inImage(built.reference, program)).split(" ");
    expect(Number(files)).toBeGreaterThan(100);
    expect(Number(tokens)).toBe(4);
  });

  it("gives fresh volumes to the node's user, and lets it change nothing else", async () => {
    const volumes = await Promise.all(["a", "b", "c"].map((name) => createVolume(name)));
    const places = ["/var/lib/cairn", "/srv/cairn", "/srv/shared"];
    const mounts = volumes.flatMap((volume, index) => ["--volume", `${volume}:${places[index]}`]);
    const program = `
      import { statSync, writeFileSync } from "node:fs";
      const tryTo = (path) => { try { writeFileSync(path, "x"); return "written"; } catch (error) { return error.code; } };
      const places = ${JSON.stringify(places)};
      console.log(JSON.stringify({
        user: [process.getuid(), process.getgid()],
        volumes: places.map((place) => [tryTo(place + "/x"), (statSync(place).mode & 0o777).toString(8)]),
        others: ["/opt/cairn/x", "/opt/cairn/dist/runtime/main.js", "/etc/x", "/usr/bin/x"].map(tryTo),
      }));`;
    expect(JSON.parse(await inImage(built.reference, program, ...mounts))).toEqual({
      user: [1000, 0],
      volumes: places.map(() => ["written", "770"]),
      others: ["EACCES", "EACCES", "EACCES", "EACCES"],
    });
  });
});

describe("a node in a container", () => {
  it("becomes healthy with a read-only root, reaps orphans, and drains when it is stopped", async () => {
    const { id, url } = await startNode();
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    expect((await fetch(`${url}/api/mesh`)).status).toBe(401);

    const say = (command: string): Promise<string> => docker("exec", id, "sh", "-c", command);
    expect(await say("tr '\\0' ' ' < /proc/1/cmdline")).toMatch(/^tini -s -- node \/opt\/cairn/);
    expect(await say("id -u; id -g")).toBe("1000\n0");
    expect(await say("echo x > /srv/cairn/x && echo x > $HOME/x && echo written")).toBe("written");
    const refused = await dockerOutcome("exec", "--user", "0", id, "sh", "-c", "echo x > /opt/cairn/x");
    expect(refused.failed).toBe(true);
    expect(refused.stderr).toContain("Read-only file system");

    // The shell ends at once, its child later: by then it is process 1 that has to take note.
    const orphan = await say("sleep 20 >/dev/null 2>&1 & echo $!");
    expect(await say(`grep PPid /proc/${orphan}/status`)).toMatch(/PPid:\s+1$/);
    await expect.poll(async () => (await dockerOutcome("exec", id, "test", "-d", `/proc/${orphan}`)).failed).toBe(true);
    expect(await say("grep -l 'State:.*zombie' /proc/[0-9]*/status || true")).toBe("");

    await docker("stop", "--time", "90", id);
    expect(await inspect(id, "{{.State.ExitCode}} {{.State.OOMKilled}}")).toBe("0 false");
  });
});

describe("a second build", () => {
  it("after a changed line makes one layer anew", async () => {
    const changed = await installPackage(await temporaryDirectory());
    await appendFile(join(changed, "dist", "runtime", "main.js"), "// one more line\n");
    const again = await build({ root: changed });
    expect(again.id).not.toBe(built.id);
    const layers = (await inspectImage(built.reference))?.layers ?? [];
    const others = (await inspectImage(again.reference))?.layers ?? [];
    expect(others).toHaveLength(layers.length);
    expect(others.filter((layer) => !layers.includes(layer))).toHaveLength(1);
  });

  it("of the same files is the same image", async () => {
    expect((await build()).id).toBe(built.id);
  });

  it("has what was changed, also where no file became longer or shorter", async () => {
    const changed = await installPackage(await temporaryDirectory());
    const plugin = {
      "words/package.json": JSON.stringify({ name: "words", type: "module", cairn: { kind: "tool", contract: 1 } }),
    };
    const first = await write(await temporaryDirectory(), {
      ...plugin,
      "words/index.js": "export const word = 'one';",
    });
    const second = await write(await temporaryDirectory(), {
      ...plugin,
      "words/index.js": "export const word = 'two';",
    });
    const said = async (root: string, pluginDir: string) => {
      const { reference, version } = await build({ root, deployment: { pluginDirs: [pluginDir] } });
      const program = `
        import { readFileSync } from "node:fs";
        const { version } = JSON.parse(readFileSync("/opt/cairn/package.json", "utf8"));
        console.log(version, (await import("/opt/cairn/plugins/0/words/index.js")).word);`;
      expect(await inImage(reference, program)).toMatch(new RegExp(`^${version} `));
      return (await inImage(reference, program)).split(" ")[1];
    };
    expect(await said(installed, first)).toBe("one");
    expect(await said(installed, second)).toBe("two");
    const manifest = join(changed, "package.json");
    const text = await readFile(manifest, "utf8");
    await writeFile(
      manifest,
      text.replace(/"version": "(\d)/, (_all, digit) => `"version": "${9 - Number(digit)}`),
    );
    expect(await said(changed, second)).toBe("two");
  });
});

describe("a push", () => {
  it("sends the image with the configured credentials, and tells the digest", async () => {
    const registry = await startRegistry();
    onTestFinished(() => registry.close());
    const root = await installPackage(await temporaryDirectory());
    await writeFile(join(root, "templates", "image", "Dockerfile"), "FROM scratch\nCOPY application/LICENSE /\n");
    const tag = `${registry.server}/team/cairn:1.2.3`;
    const result = await build({ root, tag, push: true, deployment: { registry } });
    expect(result).toMatchObject({ reference: tag, pushed: true });
    expect(result.digest).toBe(`${registry.server}/team/cairn@${registry.digest("team/cairn", "1.2.3")}`);
    const wrong = build({ root, tag, push: true, deployment: { registry: { ...registry, password: "hunter2" } } });
    await expect(wrong).rejects.toMatchObject({
      code: "INFRA_BUILD_FAILED",
      details: { hint: expect.stringContaining("docker login") },
    });
  });
});

describe("plugins and skills", () => {
  it("are inside, with the packages that they need to run", async () => {
    const plugins = await write(await temporaryDirectory(), {
      "words/package.json": JSON.stringify({
        name: "words",
        type: "module",
        cairn: { kind: "tool", contract: 1 },
        dependencies: { "fastest-levenshtein": "1.0.16" },
        devDependencies: { vitest: "*" },
      }),
      "words/index.ts":
        "import { distance } from 'fastest-levenshtein';\nexport const far: number = distance('ab', 'cd');\n",
      "words/.env": "TOKEN=hunter2",
    });
    const skills = await write(await temporaryDirectory(), { "letters/SKILL.md": "How to write letters." });
    const result = await build({ deployment: { pluginDirs: [plugins], skillDirs: [skills] } });
    expect(result).toMatchObject({ plugins: 1, skills: 1 });
    const program = `
      import { existsSync, readFileSync } from "node:fs";
      const { far } = await import("/opt/cairn/plugins/0/words/index.ts");
      const there = ["node_modules/fastest-levenshtein", "node_modules/vitest", ".env"];
      console.log(JSON.stringify([
        far, readFileSync("/opt/cairn/skills/0/letters/SKILL.md", "utf8"),
        there.map((path) => existsSync("/opt/cairn/plugins/0/words/" + path)),
      ]));`;
    expect(JSON.parse(await inImage(result.reference, program))).toEqual([
      2,
      "How to write letters.",
      [true, false, false],
    ]);
  });
});

describe("a token for the package registry", () => {
  it("is used and does not stay", async () => {
    const npmrc = join(
      await write(await temporaryDirectory(), { npmrc: "//127.0.0.1/:_authToken=hunter2-secret\n" }),
      "npmrc",
    );
    const root = await installPackage(await temporaryDirectory());
    const dockerfile = join(root, "templates", "image", "Dockerfile");
    const text = await readFile(dockerfile, "utf8");
    const step = "--mount=type=secret,id=npmrc,target=/root/.npmrc \\\n";
    const seen = "    grep -q hunter2-secret /root/.npmrc && touch /opt/cairn/plugins/seen && \\\n";
    const at = text.lastIndexOf(step) + step.length;
    await writeFile(dockerfile, text.slice(0, at) + seen + text.slice(at));
    const { reference } = await build({ root, npmrc });
    const search = "ls /opt/cairn/plugins; grep -rl hunter2-secret /opt /root /tmp /home /etc 2>/dev/null; true";
    expect(await docker("run", "--rm", "--user", "0", "--entrypoint", "sh", reference, "-c", search)).toBe("seen");
    expect(await docker("history", "--no-trunc", reference)).not.toContain("hunter2-secret");
  });
});

describe("a build that cannot be done", () => {
  const failing = async (step: string): Promise<string> => {
    const root = await installPackage(await temporaryDirectory());
    await writeFile(
      join(root, "templates", "image", "Dockerfile"),
      `ARG BASE_IMAGE\nFROM \${BASE_IMAGE}\nRUN ${step}\n`,
    );
    return root;
  };
  const leftovers = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("cairn-build-"));

  it("shows the step and its last lines", async () => {
    const root = await failing("seq 1 50; sleep 1; echo out of cheese >&2; exit 7");
    const error = await build({ root }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "INFRA_BUILD_FAILED" });
    const { message } = error as Error;
    expect(message).toContain("exit code: 7");
    expect(message).toContain("out of cheese");
    expect(message).toContain("  22\n");
    expect(message).not.toContain("  21\n");
  });

  it("says when the disk is full", async () => {
    const root = await failing("--mount=type=tmpfs,target=/full,size=1048576 head -c 9000000 /dev/zero > /full/x");
    await expect(build({ root })).rejects.toMatchObject({
      code: "INFRA_DISK_FULL",
      details: { hint: expect.stringContaining("prune") },
    });
  });

  it("says when the base image cannot be had", async () => {
    await expect(build({ baseImage: "127.0.0.1:1/nothing:1" })).rejects.toMatchObject({
      code: "INFRA_BUILD_FAILED",
      details: { hint: expect.stringContaining("--base-image") },
    });
  });

  it("says when there is no engine", async () => {
    vi.stubEnv("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    await expect(build()).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      details: { hint: expect.stringContaining("DOCKER_HOST") },
    });
  });

  it("ends with the interruption, and leaves nothing behind", async () => {
    const before = await leftovers();
    const root = await failing("echo started && sleep 300");
    const interruption = new AbortController();
    const report = (text: string): void => {
      if (text.includes("sleep 300")) interruption.abort(new Error("interrupted"));
    };
    await expect(build({ root, signal: interruption.signal, report })).rejects.toThrow("interrupted");
    expect((await leftovers()).filter((name) => !before.includes(name))).toEqual([]);
    await expect.poll(async () => (await docker("ps", "--quiet", "--filter", "name=sleep")).length).toBe(0);
  });
});

describe("cairn build", () => {
  const run = async (home: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const program = join(installed, "bin", "cairn.js");
    return execa(process.execPath, [program, "build", ...args], {
      cwd: home,
      reject: false,
      extendEnv: false,
      env: { PATH: process.env.PATH, HOME: home, SERVICE_HOME: home, ...env },
    });
  };

  it("of an installed package builds with the deployment's plugins, and notes the image there", async () => {
    const home = await write(await temporaryDirectory(), {
      "cairn.yaml": `${MINIMAL}plugin_dirs: [plugins]\n`,
      "plugins/hello/index.js": "export const hello = 'hello';\n",
    });
    const tag = `${uniqueName("cli")}:1`;
    tags.add(tag);
    const { exitCode, stdout, stderr } = await run(home, ["--base-image", images.node, "--tag", tag, "--json"]);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const result: BuildResult = buildResult.parse(JSON.parse(stdout));
    expect(result).toMatchObject({ schema: 1, reference: tag, plugins: 1, pushed: false, loaded: true });
    expect(result.recorded).toBe(join(home, "infra", "release.json"));
    expect(await readRelease(home)).toEqual({ schema: 1, built: identityOfResult(result), nodes: {} });
    expect(await inImage(tag, "console.log((await import('/opt/cairn/plugins/0/hello/index.js')).hello)")).toBe(
      "hello",
    );
  });

  it("answers one document when it fails", async () => {
    const home = await temporaryDirectory();
    const { exitCode, stdout } = await run(home, ["--json"], { DOCKER_HOST: "unix:///nonexistent/docker.sock" });
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "INFRA_HOST_UNREACHABLE" } });
    expect(existsSync(join(home, "infra"))).toBe(false);
  });
});
