import { describe, expect, it } from "vitest";
import { registryLogin, serverOf } from "../../infra/registry.ts";

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
});
