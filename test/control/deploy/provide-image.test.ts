import { expect, it, vi } from "vitest";
import type { ReadProject } from "../../../control/deploy/operations/services.ts";
import { resolveImage } from "../../../control/deploy/provide-image.ts";

it("claims no version for an image that this machine's engine does not have", async () => {
  // No engine is found there.
  vi.stubEnv("PATH", "/nowhere");
  const project = { plan: { target: "docker", version: "1.0.0" } } as ReadProject;
  const digest = `registry.example.org/team/cairn@sha256:${"b".repeat(64)}`;
  expect(await resolveImage(digest, project, new AbortController().signal)).toEqual({
    id: null,
    digest,
    reference: "registry.example.org/team/cairn",
    version: "unknown",
    revision: null,
  });
});

it("takes an id for an image that another machine has brought to the hosts, and a name for none", async () => {
  vi.stubEnv("PATH", "/nowhere");
  const project = { plan: { target: "docker", version: "1.0.0" } } as ReadProject;
  const id = `sha256:${"c".repeat(64)}`;
  const { signal } = new AbortController();
  expect(await resolveImage(id, project, signal)).toMatchObject({ id, digest: null, version: "unknown" });
  await expect(resolveImage("cairn:1", project, signal)).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
});
