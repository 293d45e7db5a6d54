import { describe, expect, it } from "vitest";
import { dockerAuths, registryLogin, serverOf } from "../../infra/registry.ts";

describe("the registry of an image", () => {
  it.each([
    ["registry.example.org/team/cairn", "registry.example.org"],
    ["localhost:5000/cairn", "localhost:5000"],
    ["localhost/cairn", "localhost"],
    ["somebody/cairn", "docker.io"],
    ["cairn", "docker.io"],
  ])("of %s is %s", (repository, server) => {
    expect(serverOf(repository)).toBe(server);
  });

  it("is logged in to only with a user and a password", () => {
    const image = { build_from_source: true, registry: "registry.example.org/team/cairn" };
    expect(registryLogin({ ...image, username: "ada" })).toBeNull();
    expect(registryLogin({ ...image, username: "ada", password: "" })).toBeNull();
    expect(registryLogin({ ...image, username: "ada", password: "p" })).toEqual({
      server: "registry.example.org",
      username: "ada",
      password: "p",
    });
  });

  // Every reader of the file looks there alone for images of the public registry.
  it.each([
    ["docker.io", "https://index.docker.io/v1/"],
    ["index.docker.io", "https://index.docker.io/v1/"],
    ["registry.example.org:5000", "registry.example.org:5000"],
  ])("that is %s stands in Docker's configuration as %s", (server, key) => {
    expect(dockerAuths({ server, username: "ada", password: "p:w" })).toEqual({ [key]: { auth: btoa("ada:p:w") } });
  });
});
