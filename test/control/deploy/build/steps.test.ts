/** The programs that run while the image is built, and the search for what builds it. */

import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe, expect, it, vi } from "vitest";
import { findBuilder } from "../../../../control/deploy/build/builder.ts";
import { renderBuilt, sourceDateEpoch } from "../../../../control/deploy/build/words.ts";
import { UsageError } from "../../../../control/output/failure.ts";
import { ROOT } from "../../../../scripts/lib/paths.js";
import { temporaryDirectory } from "../../../support/deployment.ts";

const STRIP = join(ROOT, "templates", "image", "strip-packages.js");

async function write(folder: string, files: readonly string[]): Promise<string> {
  for (const name of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name);
  }
  return folder;
}

describe("strip-packages", () => {
  const strip = async (files: readonly string[], architecture = "amd64"): Promise<string[]> => {
    const folder = await write(await temporaryDirectory(), files);
    execFileSync(process.execPath, [STRIP, architecture, folder]);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
  };

  it("keeps programs, data and licences, and takes out types, maps, sources and prose", async () => {
    const kept = [
      "a/LICENSE.md",
      "a/NOTICE.md",
      "a/data.wasm",
      "a/index.js",
      "a/index.mjs",
      "a/package.json",
      "a/x.tar.gz",
    ];
    const dead = [
      "a/README.md",
      "a/index.d.ts",
      "a/index.d.mts",
      "a/index.js.map",
      "a/src/index.ts",
      "a/x.tsbuildinfo",
    ];
    expect(await strip([...kept, ...dead])).toEqual(["a", ...kept]);
  });

  it("keeps native parts of the platform alone", async () => {
    const parts = ["linux-x64", "linux-arm64", "darwin-arm64", "win32-x64"].map((name) => `a/prebuilds/${name}/a.node`);
    const native = async (architecture: string) =>
      (await strip(parts, architecture)).filter((path) => path.endsWith(".node"));
    expect(await native("amd64")).toEqual(["a/prebuilds/linux-x64/a.node"]);
    expect(await native("arm64")).toEqual(["a/prebuilds/linux-arm64/a.node"]);
  });

  it("leaves native parts alone when none has the platform's name", async () => {
    const parts = ["a/prebuilds/linux/a.node", "a/prebuilds/other/a.node"];
    expect((await strip(parts)).filter((path) => path.endsWith(".node"))).toEqual(parts);
  });
});

describe("findBuilder", () => {
  const signal = new AbortController().signal;
  /** A `docker` that answers as a machine would that has one thing and lacks another. */
  const withDocker = async (script: string): Promise<void> => {
    const folder = await temporaryDirectory();
    await writeFile(join(folder, "docker"), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, "docker"), 0o755);
    vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
  };
  const OLD_STORE = `[["Backing Filesystem","extfs"]]`;
  const NEW_STORE = `[["driver-type","io.containerd.snapshotter.v1"]]`;

  it("says that Docker is missing", async () => {
    vi.stubEnv("PATH", await temporaryDirectory());
    await expect(findBuilder(signal)).rejects.toMatchObject({
      code: "INFRA_TOOL_MISSING",
      details: { hint: expect.stringContaining("Install Docker") },
    });
  });

  it("says that buildx is missing", async () => {
    await withDocker(
      `case "$1" in info) echo '${OLD_STORE}';; *) echo "docker: 'buildx' is not a docker command." >&2; exit 1;; esac`,
    );
    await expect(findBuilder(signal)).rejects.toMatchObject({
      code: "INFRA_TOOL_MISSING",
      message: expect.stringContaining("buildx"),
    });
  });

  it.each([
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
    "error during connect: Get http://docker.example.com/v1.47/info: command [ssh ...] has exited with exit status 255",
  ])("says that the engine cannot be reached: %s", async (words) => {
    await withDocker(`echo "${words}" >&2; exit 1`);
    await expect(findBuilder(signal)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
  });

  it.each([
    ["docker", OLD_STORE, { driver: "docker", attests: false, multiPlatform: false }],
    ["docker", NEW_STORE, { driver: "docker", attests: true, multiPlatform: true }],
    ["docker-container", OLD_STORE, { driver: "docker-container", attests: true, multiPlatform: true }],
  ])("knows what a builder of the driver %s can do with the store %s", async (driver, store, expected) => {
    const inspection = `printf 'Name:          one\\nDriver:        ${driver}\\n\\nNodes:\\nName: one0\\nDriver: x\\n'`;
    await withDocker(`case "$1 $2" in info*) echo '${store}';; "buildx inspect") ${inspection};; esac`);
    expect(await findBuilder(signal)).toEqual({ name: "one", ...expected });
  });
});

describe("the result in words", () => {
  const result = {
    schema: 1,
    id: "sha256:1",
    digest: null,
    reference: "cairn:1",
    tags: ["cairn:1"],
    version: "1",
    revision: null,
    base_image: "node",
    base_digest: null,
    platforms: ["linux/amd64"],
    size_bytes: null,
    pushed: false,
    loaded: true,
    attestations: [],
    plugins: 0,
    skills: 0,
    recorded: null,
    duration_ms: 1000,
  } as const;
  const plain = (text: string): string => text;
  const mark = { title: plain, good: plain, warn: plain, error: plain, dim: plain, name: plain };

  it("begins with the digest, else the id", () => {
    expect(renderBuilt(result, mark).split("\n")[0]).toBe("sha256:1");
    expect(renderBuilt({ ...result, digest: "r/c@sha256:2" }, mark).split("\n")[0]).toBe("r/c@sha256:2");
  });
});

describe("SOURCE_DATE_EPOCH", () => {
  it("is a number of seconds, or nothing", () => {
    expect(sourceDateEpoch({})).toBeNull();
    expect(sourceDateEpoch({ SOURCE_DATE_EPOCH: "86400" })).toBe(86_400);
    expect(() => sourceDateEpoch({ SOURCE_DATE_EPOCH: "yesterday" })).toThrow(UsageError);
  });
});
