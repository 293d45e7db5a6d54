/** The rolling upgrade of docs/examples on Docker. */

import { describe, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { removeStack } from "../support/docker-lane.ts";
import { typeExample } from "../support/week.ts";

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("a rolling upgrade", () => {
  it("of three nodes on Docker goes as it is printed in the documents", {
    timeout: 2 * IMAGES_TIMEOUT_MS,
  }, async () => {
    const images = await ensureTestImages();
    onTestFinished(() => removeStack("rolling"));
    await typeExample("rolling-upgrade/upgrade.sh", "/srv/rolling", {
      BASE_IMAGE: images.node,
      POSTGRES_IMAGE: images.postgres,
    });
  });
});
