import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { repositoryOf } from "../../../../control/deploy/images/inspect.ts";
import { withCredentials, withRegistryLogin } from "../../../../control/deploy/images/registry-login.ts";
import { recordBuilt } from "../../../../control/deploy/images/release-file.ts";
import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import { readRelease, writeRelease } from "../../../../infra/release.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";

const IDENTITY: ImageIdentity = {
  id: `sha256:${"a".repeat(64)}`,
  digest: null,
  reference: "cairn:1.2.3",
  version: "1.2.3",
  revision: null,
};

describe("recordBuilt", () => {
  it("remembers what was built and leaves the nodes alone", async () => {
    const directory = await temporaryDirectory();
    const older = { ...IDENTITY, reference: "cairn:1.0.0", version: "1.0.0" };
    await writeRelease(directory, { schema: 1, built: older, nodes: { b: older, a: IDENTITY } });
    expect(await recordBuilt(directory, IDENTITY)).toBe(join(directory, "infra", "release.json"));
    expect(await readRelease(directory)).toEqual({ schema: 1, built: IDENTITY, nodes: { a: IDENTITY, b: older } });
  });

  it("does not write over what is no release file", async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, "infra", "release.json");
    await mkdir(join(directory, "infra"));
    await writeFile(file, "{");
    await expect(recordBuilt(directory, IDENTITY)).rejects.toMatchObject({ code: "INFRA_STATE_UNREADABLE" });
    expect(await readFile(file, "utf8")).toBe("{");
  });
});

describe("credentials of a registry", () => {
  const registry = { server: "registry.example.org", username: "me", password: "hunter2" };

  it("lie in a private directory for the time of the work, and nowhere else", async () => {
    const own = await temporaryDirectory();
    await mkdir(join(own, "contexts"));
    await writeFile(join(own, "config.json"), '{"currentContext":"far"}');
    vi.stubEnv("DOCKER_CONFIG", own);
    const seen = await withRegistryLogin(registry, async ({ DOCKER_CONFIG = "" }) => {
      expect((await stat(DOCKER_CONFIG)).mode & 0o777).toBe(0o700);
      expect((await stat(join(DOCKER_CONFIG, "config.json"))).mode & 0o777).toBe(0o600);
      expect(existsSync(join(DOCKER_CONFIG, "contexts"))).toBe(true);
      const content = JSON.parse(await readFile(join(DOCKER_CONFIG, "config.json"), "utf8"));
      return { DOCKER_CONFIG, content };
    });
    expect(seen.content).toMatchObject({
      currentContext: "far",
      auths: { "registry.example.org": { auth: Buffer.from("me:hunter2").toString("base64") } },
    });
    expect(existsSync(seen.DOCKER_CONFIG)).toBe(false);
    expect(await readFile(join(own, "config.json"), "utf8")).toBe('{"currentContext":"far"}');
    expect(existsSync(join(own, "contexts"))).toBe(true);
  });

  it("are removed when the work fails", async () => {
    vi.stubEnv("DOCKER_CONFIG", await temporaryDirectory());
    let directory = "";
    const failing = withRegistryLogin(registry, async (environment) => {
      directory = environment["DOCKER_CONFIG"] ?? "";
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(directory).not.toBe("");
    expect(existsSync(directory)).toBe(false);
  });

  it("are nothing where none are needed", async () => {
    expect(await withRegistryLogin(null, async (environment) => environment)).toEqual({});
    expect(process.env["DOCKER_CONFIG"]).not.toBe("");
  });

  it("leave the others to the helper that knows them", () => {
    const before = {
      credsStore: "desktop",
      auths: { "other.example.org": {}, "registry.example.org": {} },
      credHelpers: { "third.example.org": "ecr" },
    };
    expect(withCredentials(before, registry)).toMatchObject({
      credHelpers: { "other.example.org": "desktop", "third.example.org": "ecr" },
    });
    expect(withCredentials(before, registry).credsStore).toBeUndefined();
    expect(withCredentials(before, registry).credHelpers).not.toHaveProperty(["registry.example.org"]);
  });

  it("of Docker's public registry stand under the name that it has there", () => {
    const { auths = {} } = withCredentials({}, { ...registry, server: "docker.io" });
    expect(Object.keys(auths)).toEqual(["https://index.docker.io/v1/"]);
  });
});

describe("repositoryOf", () => {
  const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const repositories = fc
    .tuple(
      fc.constantFrom("", "localhost:5000/", "registry.example.org/"),
      fc.array(word, { minLength: 1, maxLength: 3 }),
    )
    .map(([host, words]) => `${host}${words.join("/")}`);
  const tags = fc.constantFrom("", ":1.2.3", ":latest");
  const digests = fc.constantFrom("", `@sha256:${"0".repeat(64)}`);

  it("takes tag and digest off, and leaves the registry's port", () => {
    fc.assert(
      fc.property(repositories, tags, digests, (repository, tag, digest) => {
        expect(repositoryOf(`${repository}${tag}${digest}`)).toBe(repository);
      }),
    );
  });
});
