/** The Docker target for real: a Pulumi engine, the Docker provider, and a Docker engine. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parse } from "dotenv";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDockerDriver } from "../../../control/deploy/drivers/docker/driver.ts";
import type { DockerPlan } from "../../../infra/plan/types.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { docker, freePort, removeStack, standInImage, uniqueName } from "../../support/docker-lane.ts";
import { createTestStack, type StackInput, type TestStack } from "../../support/docker-stack.ts";
import { dockerPlan, nodePlan } from "../../support/docker-target.ts";
import { missingPlugins } from "../../support/pulumi-plugins.ts";

const missing = missingPlugins("docker", "command");
const KEY = 'it\'s a "key" # with $all';
const PASSWORD = "pass'word/?#1";
const signal = AbortSignal.timeout(600_000);

describe.skipIf(missing)(`the Docker target on real engines${missing ? ` (${missing})` : ""}`, () => {
  const name = uniqueName("cairn-lane");
  let stack: TestStack;
  let plan: DockerPlan;

  beforeAll(async () => {
    const images = await ensureTestImages();
    const id = await standInImage(images.node);
    const image = { id, digest: null, reference: "stand-in", version: "0.1.0", revision: null };
    stack = await createTestStack();
    plan = dockerPlan({
      stack: name,
      network: name,
      pids: 200,
      sharedStorage: true,
      postgres: { image: images.postgres, publish: null },
      nodes: [
        nodePlan("alpha", {
          image,
          stopTimeoutS: 20,
          limits: { memoryBytes: 256 * 1024 * 1024, cpus: 1 },
          publish: { address: "127.0.0.1", port: await freePort() },
        }),
      ],
    });
  }, IMAGES_TIMEOUT_MS);

  afterAll(async () => {
    await removeStack(name);
    await stack?.remove();
  });

  const input = (change: Partial<DockerPlan> = {}): StackInput => ({
    plan: { ...plan, ...change },
    variables: { API_KEY: KEY },
    password: PASSWORD,
  });
  const withNode = (change: Partial<DockerPlan["nodes"][number]>) =>
    input({ nodes: plan.nodes.map((node) => ({ ...node, ...change })) });

  /** What the node sees of its container. */
  const seen = async () => {
    const { url } = await createDockerDriver(plan, { registry: null }).connect("alpha", signal);
    return await (await fetch(url)).json();
  };
  const sql = (text: string) =>
    docker("exec", `${name}-postgres`, "psql", "-U", "cairn", "-d", "cairn", "-v", "ON_ERROR_STOP=1", "-Atc", text);

  test("up makes a node and its database, both healthy, held to their limits, with their files and nothing else", async () => {
    const steps = await stack.up(input());
    expect(new Set(Object.values(steps))).toEqual(new Set(["create"]));
    const node = await seen();
    expect(node.writable).toEqual(["/tmp/x", "/srv/cairn/x"]);
    expect(node.status).toMatch(/CapBnd:\s+0+\n/);
    expect(node.status).toMatch(/NoNewPrivs:\s+1\n/);
    expect(node.status).toMatch(/Uid:\s+1000\s/);
    expect(node).toMatchObject({ starts: 1, configuration: "version: 1\n", empty: "" });
    const env = parse(node.env);
    expect(env["API_KEY"]).toBe(KEY);
    expect(decodeURIComponent(new URL(env["SERVICE_PG_URL"] ?? "").password)).toBe(PASSWORD);
    expect(JSON.stringify(node.environment)).not.toContain("API_KEY");
    for (const container of [`${name}-alpha`, `${name}-postgres`]) {
      const limits = "{{.HostConfig.PidsLimit}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.LogConfig.Config}}";
      expect(await docker("inspect", "--format", limits, container)).toMatch(
        /^(200|512) true map\[max-file:3 max-size:10000000\]$/,
      );
    }
    expect(await docker("inspect", `${name}-alpha`, `${name}-alpha.files`, `${name}-postgres`)).not.toContain(PASSWORD);
    expect(await docker("port", `${name}-postgres`)).toBe("");
    expect(await sql("CREATE TABLE kept AS SELECT 42 AS answer; SELECT 1")).toContain("1");
  });

  test("no secret stands in the state", async () => {
    const state = await stack.stored();
    expect(state).toContain(`${name}-alpha.files`);
    for (const word of [KEY, PASSWORD, encodeURIComponent(PASSWORD), JSON.stringify(KEY).slice(1, -1)]) {
      expect(state).not.toContain(word);
    }
  });

  test("a preview, a second up, and a look at what is there find no change", async () => {
    expect(await stack.preview(input())).toEqual({});
    expect(await stack.up(input())).toEqual({});
    expect(await stack.refresh(input())).toEqual({});
    expect(await stack.preview(input())).toEqual({});
  });

  test("the driver sees the node and its data, and has nothing against another up", async () => {
    const driver = createDockerDriver(plan, { registry: null });
    expect(await driver.observe(signal)).toEqual([
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
    const changed = withNode({ files: [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\nname: new\n" }] });
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
    const files = [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\nname: new\n" }];
    const format = "{{.Id}} {{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}";
    const inspect = async () => (await docker("inspect", "--format", format, `${name}-alpha`)).split(" ");
    const [before] = await inspect();
    const more = withNode({ files, limits: { memoryBytes: 300 * 1024 * 1024, cpus: 1 } });
    expect(await stack.up(more)).toEqual({ [`${name}-alpha`]: "update" });
    expect(await inspect()).toEqual([before, String(300 * 1024 * 1024), "100000"]);

    const other = withNode({ files, limits: { memoryBytes: null, cpus: 0.5 } });
    expect(await stack.up(other)).toEqual({ [`${name}-alpha`]: "replace", [`${name}-alpha-pids`]: "replace" });
    expect((await inspect()).slice(1)).toEqual(["0", "50000"]);
  });

  test("destroy leaves the data alone, and up finds them again", async () => {
    await stack.destroy(input());
    expect(await docker("container", "ls", "--all", "--quiet", "--filter", `label=cairn.stack=${name}`)).toBe("");
    expect((await createDockerDriver(plan, { registry: null }).existingData(signal)).length).toBe(4);
    await stack.up({ ...input(), password: "rotated" });
    expect(await sql("SELECT answer FROM kept")).toBe("42");
    expect(await seen()).toMatchObject({ starts: 4 });
  });

  test("a stack whose state is lost takes its volumes over", async () => {
    await stack.destroy(input());
    const fresh = await createTestStack();
    try {
      const data = await createDockerDriver(plan, { registry: null }).existingData(signal);
      const adopting = { ...input(), adopt: data.map((one) => one.name) };
      const steps = await fresh.up(adopting);
      expect(steps[`${name}-postgres-data`]).toBe("import");
      expect(await sql("SELECT answer FROM kept")).toBe("42");
      expect(await seen()).toMatchObject({ starts: 5 });
      // Not asked for again.
      expect(await fresh.preview(input())).toEqual({});
      await fresh.destroy(input());
    } finally {
      await fresh.remove();
    }
  });

  test("an up that was killed while it made a container is finished by the next", async () => {
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
    const driver = createDockerDriver(plan, { registry: null });
    for (const { type, name: resource } of pending)
      expect(await driver.findInterrupted(type, resource, signal)).toBeNull();
    await stack.up(input());
    expect(await sql("SELECT answer FROM kept")).toBe("42");
    expect(await stack.preview(input())).toEqual({});
  });
});
