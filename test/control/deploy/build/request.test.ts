import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attestationsOf, buildArguments } from "../../../../control/deploy/build/arguments.ts";
import { describeBuilder } from "../../../../control/deploy/build/builder.ts";
import { checkAgainstBuilder, checkRequest, defaultReference } from "../../../../control/deploy/build/request.ts";
import type { BuildRequest } from "../../../../control/deploy/build/types.ts";
import { UsageError } from "../../../../control/output/failure.ts";

const REQUEST: BuildRequest = {
  baseImage: "node:24-trixie-slim",
  tags: ["registry.example.org/team/cairn:1.2.3"],
  push: false,
  load: true,
  platforms: [],
  noCache: false,
  network: null,
  npmrc: null,
  packages: [],
};
const ENGINE = describeBuilder("Name:          default\nDriver:        docker\n", false);
const CONTAINER = describeBuilder("Name:   b\nDriver: docker-container\n\nNodes:\nName:     b0\n", false);

const input = (request: Partial<BuildRequest>, builder = ENGINE) => ({
  request: { ...REQUEST, ...request },
  base: { reference: request.baseImage ?? REQUEST.baseImage, digest: null },
  builder,
  version: "1.2.3",
  revision: null,
  sourceDateEpoch: null,
  sourceUrl: null,
  context: "/tmp/context",
  metadataFile: "/tmp/metadata.json",
});

describe("checkRequest", () => {
  it.each([
    ["cairn:1"],
    ["cairn"],
    ["localhost:5000/cairn:1.2.3"],
    ["registry.example.org:5000/team/sub/cairn_x:1.2.3-rc.1"],
    ["REGISTRY.example.org/cairn:A"],
  ])("takes the reference %s", (tag) => {
    expect(() => checkRequest({ ...REQUEST, tags: [tag] })).not.toThrow();
  });

  it.each([
    ["--tag", { tags: ["-x"] }],
    ["--tag", { tags: ["cairn:1 --push"] }],
    ["--tag", { tags: ["Cairn:1"] }],
    ["--tag", { tags: [""] }],
    ["--tag", { tags: [`a${"-".repeat(60)}!`] }],
    ["--base-image", { baseImage: "--output=/" }],
    ["--base-image", { baseImage: "node:24@sha256:12" }],
    ["--platform", { platforms: ["linux/amd64,linux/arm64"] }],
    ["--platform", { platforms: ["windows/amd64"] }],
    ["--package", { packages: ["git; rm -rf /"] }],
    ["--package", { packages: ["-o"] }],
    ["--network", { network: "--host" }],
    ["--push", { push: true, tags: ["cairn:1"] }],
    ["--push", { push: false, load: false }],
  ] satisfies [string, Partial<BuildRequest>][])("refuses, naming %s: %j", (flag, change) => {
    expect(() => checkRequest({ ...REQUEST, ...change })).toThrow(UsageError);
    expect(() => checkRequest({ ...REQUEST, ...change })).toThrow(flag);
  });

  it("takes a base image by digest", () => {
    expect(() => checkRequest({ ...REQUEST, baseImage: `node@sha256:${"a".repeat(64)}` })).not.toThrow();
  });

  it("lets nothing through that Docker could take for a flag", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const change of [{ tags: [text] }, { baseImage: text }, { network: text }, { packages: [text] }]) {
          try {
            checkRequest({ ...REQUEST, ...change });
          } catch {
            continue;
          }
          expect(text).toMatch(/^[A-Za-z0-9][^\s;'"$`\\]*$/);
        }
      }),
    );
  });
});

describe("several platforms", () => {
  const platforms = ["linux/amd64", "linux/arm64"];

  it("need a builder that can", () => {
    expect(() => checkAgainstBuilder({ ...REQUEST, platforms, push: true }, ENGINE)).toThrow("default");
    expect(() => checkAgainstBuilder({ ...REQUEST, platforms, push: true }, CONTAINER)).not.toThrow();
  });

  it("need a registry", () => {
    expect(() => checkAgainstBuilder({ ...REQUEST, platforms }, CONTAINER)).toThrow("registry");
  });

  it("are one with every builder when there is one", () => {
    expect(() => checkAgainstBuilder({ ...REQUEST, platforms: ["linux/arm64"] }, ENGINE)).not.toThrow();
  });
});

describe("attestations", () => {
  const containerd = describeBuilder("Name: default\nDriver: docker\n", true);
  it.each([
    ["an engine with the old store", ENGINE, { load: true }, []],
    ["an engine with the new store", containerd, { load: true }, ["sbom", "provenance"]],
    ["a builder of its own, to a registry", CONTAINER, { load: false, push: true }, ["sbom", "provenance"]],
    ["a builder of its own, to the engine", CONTAINER, { load: true, push: true }, []],
  ] as const)("of %s", (_what, builder, request, expected) => {
    expect(attestationsOf({ ...REQUEST, ...request }, builder)).toEqual(expected);
    const args = buildArguments(input(request, builder), {});
    expect(args).toContain(expected.length > 0 ? "--sbom=true" : "--sbom=false");
  });
});

describe("buildArguments", () => {
  const valuesOf = (args: readonly string[], flag: string) => args.filter((_arg, index) => args[index - 1] === flag);

  it("ends with the context, and says where to", () => {
    const args = buildArguments(input({ push: true, load: false, noCache: true, network: "host" }), {});
    expect(args.at(-1)).toBe("/tmp/context");
    expect(args).toContain("--push");
    expect(args).not.toContain("--load");
    expect(args).toContain("--no-cache");
    expect(valuesOf(args, "--network")).toEqual(["host"]);
    expect(valuesOf(args, "--tag")).toEqual(REQUEST.tags);
  });

  it("passes proxies by name, because their values may hold a password", () => {
    const args = buildArguments(input({}), { https_proxy: "http://user:hunter2@proxy", HTTP_PROXY: "", NO_PROXY: "x" });
    expect(valuesOf(args, "--build-arg")).toEqual(expect.arrayContaining(["https_proxy", "NO_PROXY"]));
    expect(valuesOf(args, "--build-arg")).not.toContain("HTTP_PROXY");
    expect(args.join(" ")).not.toContain("hunter2");
  });

  it("passes npm's configuration as a secret", () => {
    const args = buildArguments(input({ npmrc: "/home/x/.npmrc" }), {});
    expect(valuesOf(args, "--secret")).toEqual(["id=npmrc,src=/home/x/.npmrc"]);
  });

  it("labels version, revision and time only where they are known", () => {
    const bare = valuesOf(buildArguments(input({}), {}), "--label").join("\n");
    expect(bare).toContain("org.opencontainers.image.version=1.2.3");
    expect(bare).not.toMatch(/revision|created|source/);
    const full = { ...input({}), revision: "abc-dirty", sourceDateEpoch: 86_400, sourceUrl: "https://example.org/x" };
    const labels = valuesOf(buildArguments(full, {}), "--label").join("\n");
    expect(labels).toContain("org.opencontainers.image.revision=abc-dirty");
    expect(labels).toContain("org.opencontainers.image.created=1970-01-02T00:00:00.000Z");
    expect(labels).toContain("org.opencontainers.image.source=https://example.org/x");
  });

  it("gives the same step for the same packages, whatever their order", () => {
    const one = buildArguments(input({ packages: ["git", "curl"] }), {});
    expect(one).toEqual(buildArguments(input({ packages: ["curl", "git"] }), {}));
    expect(one).toContain("PACKAGES=curl git");
  });
});

describe("names", () => {
  it.each([
    [{}, "cairn:1.2.3"],
    [{ registry: "registry.example.org/team/cairn" }, "registry.example.org/team/cairn:1.2.3"],
    [{ registry: "localhost:5000/cairn", tag: "stable" }, "localhost:5000/cairn:stable"],
  ])("of %j are %s", (image, reference) => {
    expect(defaultReference(image, "1.2.3")).toBe(reference);
    expect(() => checkRequest({ ...REQUEST, tags: [reference] })).not.toThrow();
  });

  it("hold no sign that a version may hold and a tag may not", () => {
    expect(defaultReference({}, "1.2.3+build.5")).toBe("cairn:1.2.3_build.5");
  });
});
