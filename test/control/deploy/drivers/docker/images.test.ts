import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { deliverImage } from "../../../../../control/deploy/drivers/docker/images.ts";

let bin: string;

/** An engine without an image, and a registry that it may not ask. */
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), "cairn-docker-"));
  const answer = `#!/bin/sh
case "$*" in *inspect*) echo 'Error: No such image' >&2;; *) echo 'denied: no access' >&2;; esac
exit 1
`;
  writeFileSync(join(bin, "docker"), answer);
  chmodSync(join(bin, "docker"), 0o755);
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(bin, { recursive: true });
});

it("that cannot be pulled is said to, with the setting that is of use for PostgreSQL's", async () => {
  const image = "pgvector/pgvector:0.8.1-pg17";
  const { signal } = new AbortController();
  const delivery = { image, place: "local", report: () => undefined, signal };
  await expect(deliverImage(null, delivery)).rejects.toMatchObject({
    code: "INFRA_IMAGE_MISSING",
    message: `The image ${image} cannot be pulled on this machine: denied: no access`,
    details: { hint: expect.stringMatching(/^Name .* in deployment\.datahub\.image .*`docker load`/) },
  });
});
