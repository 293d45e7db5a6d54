/** The Docker target for real: a Pulumi engine, the Docker provider, and a Docker engine. */

import { parse } from "dotenv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDockerDriver } from "../../../control/deploy/drivers/docker/driver.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type DockerDeployment, prepareDockerDeployment, SECRETS } from "../../support/docker-deployment.ts";
import { docker } from "../../support/docker-lane.ts";

const signal = new AbortController().signal;

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("the Docker target on real engines", () => {
  let deployment: DockerDeployment;

  beforeAll(async () => {
    deployment = await prepareDockerDeployment();
  }, IMAGES_TIMEOUT_MS);

  afterAll(() => deployment?.remove());

  test("up makes a node and its database, both healthy, held to their limits, with their files and nothing else", async () => {
    const { name, stack, input, seen, sql } = deployment;
    const steps = await stack.up(input());
    expect(new Set(Object.values(steps))).toEqual(new Set(["create"]));
    const node = await seen();
    expect(node.writable).toEqual(["/tmp/x", "/srv/cairn/x"]);
    expect(node.status).toMatch(/CapBnd:\s+0+\n/);
    expect(node.status).toMatch(/NoNewPrivs:\s+1\n/);
    expect(node.status).toMatch(/Uid:\s+1000\s/);
    expect(node).toMatchObject({ starts: 1, configuration: "version: 1\n", empty: "" });
    const env = parse(node.env);
    expect(env["API_KEY"]).toBe(SECRETS.key);
    expect(decodeURIComponent(new URL(env["SERVICE_PG_URL"] ?? "").password)).toBe(SECRETS.password);
    expect(JSON.stringify(node.environment)).not.toContain("API_KEY");
    for (const container of [`${name}-alpha`, `${name}-postgres`]) {
      const limits = "{{.HostConfig.PidsLimit}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.LogConfig.Config}}";
      expect(await docker("inspect", "--format", limits, container)).toMatch(
        /^(200|512) true map\[max-file:3 max-size:10000000\]$/,
      );
    }
    expect(await docker("inspect", `${name}-alpha`, `${name}-alpha.files`, `${name}-postgres`)).not.toContain(
      SECRETS.password,
    );
    expect(await docker("port", `${name}-postgres`)).toBe("");
    expect(await sql("CREATE TABLE kept AS SELECT 42 AS answer; SELECT 1")).toContain("1");
  });

  test("no secret stands in the state", async () => {
    const { name, stack } = deployment;
    const state = await stack.stored();
    expect(state).toContain(`${name}-alpha.files`);
    for (const word of [
      SECRETS.key,
      SECRETS.password,
      encodeURIComponent(SECRETS.password),
      JSON.stringify(SECRETS.key).slice(1, -1),
    ]) {
      expect(state).not.toContain(word);
    }
  });

  test("a preview, a second up, and a look at what is there find no change", async () => {
    const { stack, input } = deployment;
    expect(await stack.preview(input())).toEqual({});
    expect(await stack.up(input())).toEqual({});
    expect(await stack.refresh(input())).toEqual({});
    expect(await stack.preview(input())).toEqual({});
  });

  test("the driver sees the node and its data, and has nothing against another up", async () => {
    const { name, plan, driver } = deployment;
    expect(await driver.observe(signal)).toMatchObject([
      {
        name: "alpha",
        workload: `${name}-alpha`,
        place: "local",
        state: "running",
        health: "healthy",
        image: plan.nodes[0]?.image?.id,
      },
    ]);
    const data = await driver.existingData(signal);
    expect(data.map((one) => [one.name.slice(name.length), one.stack]).sort()).toEqual([
      ["-alpha-home", name],
      ["-alpha-workspace", name],
      ["-postgres-data", name],
      ["-shared", name],
    ]);
    expect((await driver.preflight(signal)).filter(({ severity }) => severity === "error")).toEqual([]);
    await expect(driver.deleteData(data, signal)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
    const other = createDockerDriver({ ...plan, stack: "another" }, { registry: null });
    expect((await other.preflight(signal)).map(({ code }) => code).sort()).toEqual([
      "INFRA_PORT_IN_USE",
      "INFRA_UP_REFUSED",
    ]);
  });

  test("a changed configuration replaces the node's container and files, and nothing of the database", async () => {
    const { name, stack, input, seen } = deployment;
    const changed = input({ files: [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\nname: new\n" }] });
    const expected = {
      [`${name}-alpha`]: "replace",
      [`${name}-alpha.files`]: "replace",
      [`${name}-alpha-pids`]: "replace",
    };
    expect(await stack.preview(changed)).toEqual(expected);
    expect(await stack.up(changed)).toEqual(expected);
    expect(await seen()).toMatchObject({ starts: 2, configuration: "version: 1\nname: new\n", empty: "ENOENT" });
  });

  test("another memory limit is set while the container runs; a limit that Docker cannot change there makes a new one", async () => {
    const { name, stack, input } = deployment;
    const files = [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\nname: new\n" }];
    const format = "{{.Id}} {{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}";
    const inspect = async () => (await docker("inspect", "--format", format, `${name}-alpha`)).split(" ");
    const [before] = await inspect();
    const more = input({ files, limits: { memoryBytes: 300 * 1024 * 1024, cpus: 1 } });
    expect(await stack.up(more)).toEqual({ [`${name}-alpha`]: "update" });
    expect(await inspect()).toEqual([before, String(300 * 1024 * 1024), "100000"]);

    const other = input({ files, limits: { memoryBytes: null, cpus: 0.5 } });
    expect(await stack.up(other)).toEqual({ [`${name}-alpha`]: "replace", [`${name}-alpha-pids`]: "replace" });
    expect((await inspect()).slice(1)).toEqual(["0", "50000"]);
  });

  test("destroy leaves the data alone, and up finds them again", async () => {
    const { name, stack, driver, input, seen, sql } = deployment;
    await stack.destroy(input());
    expect(await docker("container", "ls", "--all", "--quiet", "--filter", `label=cairn.stack=${name}`)).toBe("");
    expect((await driver.existingData(signal)).length).toBe(4);
    await stack.up({ ...input(), password: "rotated" });
    expect(await sql("SELECT answer FROM kept")).toBe("42");
    expect(await seen()).toMatchObject({ starts: 4 });
  });
});
