/** The operator's week of docs/examples on Docker. */

import { describe, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { ensureNextPostgres, ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { removeStack } from "../support/docker-lane.ts";
import { typeWeek, WEEK } from "../support/week.ts";

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("an operator's week", () => {
  it("on Docker goes as it is printed in the documents", { timeout: 2 * IMAGES_TIMEOUT_MS }, async () => {
    const images = await ensureTestImages();
    const next = await ensureNextPostgres();
    onTestFinished(() => removeStack(WEEK));
    await typeWeek("docker.sh", {
      BASE_IMAGE: images.node,
      POSTGRES_IMAGE: images.postgres,
      NEXT_POSTGRES_IMAGE: next,
    });
  });
});
