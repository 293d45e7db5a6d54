/** The Docker target after an accident, on real engines: a state that is lost, a run that was killed. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type DockerDeployment, prepareDockerDeployment } from "../../support/docker-deployment.ts";
import { docker } from "../../support/docker-lane.ts";
import { createTestStack } from "../../support/docker-stack.ts";

const signal = new AbortController().signal;

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("the Docker target after an accident", () => {
  let deployment: DockerDeployment;

  beforeAll(async () => {
    deployment = await prepareDockerDeployment();
    await deployment.stack.up(deployment.input());
    await deployment.sql("CREATE TABLE kept AS SELECT 42 AS answer");
  }, IMAGES_TIMEOUT_MS);

  afterAll(() => deployment?.remove());

  test("a stack whose state is lost takes its volumes over", async () => {
    const { name, stack, driver, input, seen, sql } = deployment;
    await stack.destroy(input());
    const fresh = await createTestStack();
    try {
      const data = await driver.existingData(signal);
      const adopting = { ...input(), adopt: data.map((one) => one.name) };
      const steps = await fresh.up(adopting);
      expect(steps[`${name}-postgres-data`]).toBe("import");
      expect(await sql("SELECT answer FROM kept")).toBe("42");
      expect(await seen()).toMatchObject({ starts: 2 });
      // Not asked for again.
      expect(await fresh.preview(input())).toEqual({});
      await fresh.destroy(input());
    } finally {
      await fresh.remove();
    }
  });

  test("an up that was killed while it made a container is finished by the next", async () => {
    const { name, stack, driver, input, sql } = deployment;
    const file = join(stack.directory, "input.json");
    await writeFile(file, JSON.stringify(input()));
    const child = join(import.meta.dirname, "..", "..", "support", "docker-stack-child.ts");
    const killed = execa(process.execPath, [child, stack.directory, file], { detached: true, reject: false });
    await expect
      .poll(async () => await docker("container", "ls", "--quiet", "--filter", `name=^${name}-postgres$`))
      .not.toBe("");
    // The whole group: the engine and its providers, too.
    process.kill(-(killed.pid ?? 0), "SIGKILL");
    await killed;

    await expect(stack.up(input())).rejects.toThrow(/locked/);
    const pending = await stack.recover(input());
    expect(pending).toContainEqual({ type: "docker:index/container:Container", name: `${name}-postgres` });
    for (const { type, name: resource } of pending)
      expect(await driver.findInterrupted(type, resource, signal)).toBeNull();
    await stack.up(input());
    expect(await sql("SELECT answer FROM kept")).toBe("42");
    expect(await stack.preview(input())).toEqual({});
  });
});
