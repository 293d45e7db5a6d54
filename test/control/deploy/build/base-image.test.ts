/** Which digest a base image is pinned to, with a Docker that is played. */

import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { buildArguments } from "../../../../control/deploy/build/arguments.ts";
import { pinBaseImage } from "../../../../control/deploy/build/base-image.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const ENGINE = { name: "default", driver: "docker", attests: false, multiPlatform: false };
const OWN = { ...ENGINE, driver: "docker-container" };
const signal = new AbortController().signal;
let directory: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  vi.stubEnv("PATH", `${directory}:${process.env["PATH"]}`);
});

interface Played {
  /** RepoDigests of the engine's image; null: it has none. */
  readonly engine: readonly string[] | null;
  readonly registry: string | null;
}

async function play({ engine, registry }: Played): Promise<void> {
  const image = engine && [{ Id: DIGEST, RepoDigests: engine, Size: 1 }];
  const source = `#!${process.execPath}
const args = process.argv.slice(2).join(" ");
require("node:fs").appendFileSync(${JSON.stringify(join(directory, "calls"))}, args + "\\n");
const answer = args.startsWith("image inspect") ? ${JSON.stringify(image && JSON.stringify(image))} : ${JSON.stringify(registry)};
if (answer === null) { process.stderr.write("No such image: not found"); process.exitCode = 1; } else process.stdout.write(answer);
`;
  await writeFile(join(directory, "docker"), source);
  await chmod(join(directory, "docker"), 0o755);
}

const calls = () => readFile(join(directory, "calls"), "utf8").catch(() => "");

describe("the base image", () => {
  it("stays at a digest that it is given with, without a question", async () => {
    await play({ engine: null, registry: null });
    const image = `node:24@${DIGEST}`;
    expect(await pinBaseImage(image, ENGINE, signal)).toEqual({ reference: image, digest: DIGEST });
    expect(await calls()).toBe("");
  });

  it("is pinned to what the registry says where the engine does not have it", async () => {
    await play({ engine: null, registry: `${DIGEST}\n` });
    expect(await pinBaseImage("node:24", ENGINE, signal)).toEqual({ reference: `node:24@${DIGEST}`, digest: DIGEST });
    expect(await calls()).toContain("buildx imagetools inspect --format {{.Manifest.Digest}} node:24");
  });

  it("is pinned to the digest that the engine pulled it by, and the registry is not asked", async () => {
    await play({ engine: [`other@sha256:${"b".repeat(64)}`, `node@${DIGEST}`], registry: `sha256:${"c".repeat(64)}` });
    expect((await pinBaseImage("node:24", ENGINE, signal)).digest).toBe(DIGEST);
    expect(await calls()).not.toContain("imagetools");
    expect((await pinBaseImage("node:24", OWN, signal)).digest).toBe(`sha256:${"c".repeat(64)}`);
  });

  it("keeps its tag where it was made here, or no registry answers", async () => {
    await play({ engine: [], registry: `sha256:${"c".repeat(64)}` });
    expect(await pinBaseImage("mine:1", ENGINE, signal)).toEqual({ reference: "mine:1", digest: null });
    await play({ engine: null, registry: null });
    expect(await pinBaseImage("node:24", ENGINE, signal)).toEqual({ reference: "node:24", digest: null });
  });

  it("is what the Dockerfile starts from, and stands in the labels by name and digest", () => {
    const request = {
      baseImage: "node:24",
      tags: ["cairn:1"],
      push: false,
      load: true,
      platforms: [],
      noCache: false,
      network: null,
      npmrc: null,
      packages: [],
    };
    const args = buildArguments(
      {
        request,
        base: { reference: `node:24@${DIGEST}`, digest: DIGEST },
        builder: ENGINE,
        version: "1.0.0",
        revision: null,
        sourceDateEpoch: null,
        sourceUrl: null,
        context: ".",
        metadataFile: "m",
      },
      {},
    );
    expect(args).toContain(`BASE_IMAGE=node:24@${DIGEST}`);
    expect(args).toContain("org.opencontainers.image.base.name=node:24");
    expect(args).toContain(`org.opencontainers.image.base.digest=${DIGEST}`);
  });
});
