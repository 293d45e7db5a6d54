/**
 * A stack on Proxmox whose PostgreSQL goes from 17 to 18, also after failures at each step: the operations of `infra`, the real engine
 * and command provider, sshd, LXC, Docker and both servers in it; `pct` and the node are played.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DatabaseServers } from "../../../control/deploy/driver.ts";
import { createProxmoxDriver } from "../../../control/deploy/drivers/proxmox/driver.ts";
import type { DatabaseSettings } from "../../../control/deploy/node-settings.ts";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import { upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { directoryData } from "../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../infra/plan/types.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { ensureNextPostgres, ensureTestImages, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type ProxmoxTestHost, startProxmox } from "../../support/proxmox/host.ts";
import { makeImage, type TestImage } from "../../support/proxmox/image.ts";
import { SECRETS } from "../../support/proxmox/stack.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const TABLE = "SELECT n, md5(n::text), array[n, n + 0.5]::vector(2) AS vec FROM generate_series(1, 5000) AS n";
const WANTED = "as the test wants it";

describe.skipIf(lacks("lxc", "pulumi-command", "docker-images"))("PostgreSQL of a stack on Proxmox", () => {
  let host: ProxmoxTestHost;
  let dir: string;
  let node: TestImage;
  let plan: ProxmoxPlan;
  let next: string;
  /** Step that fails after it was done. */
  let failing: keyof DatabaseServers | "setDatabase" | undefined;
  const path = process.env.PATH ?? "";

  /** As the commands call the operations, but for the plan, which no cairn.yaml is read for. */
  const run = (): OperationInput => {
    const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
    const real = defaultServices({ deployment, root: ROOT, prompts: null });
    return {
      dir,
      services: {
        ...real,
        backup: async () => "backups/none",
        // The image that plays the node has no API.
        nodes: { gate: async () => undefined, pause: async () => undefined, resume: async () => undefined },
        configuration: {
          ...real.configuration,
          setDatabase: async ({ image, data }: DatabaseSettings) => {
            expect(data.path).toEqual(["deployment", "proxmox", "database_directory"]);
            withDatabase({ image, data: directoryData(plan.stack, data.value) });
            if (failing === "setDatabase") throw new Error(WANTED);
          },
        },
        async createDriver(project) {
          const driver = await real.createDriver(project);
          return driver.database === undefined ? driver : { ...driver, database: thatFails(driver.database) };
        },
        async readProject() {
          const nodes = plan.nodes.map((one) => ({ ...one, image: node.identity }));
          const read = { dir, secrets: SECRETS, certificate: null, warnings: [], redactValues: [] };
          return { ...read, plan: { ...plan, nodes } };
        },
      },
      onEvent: () => undefined,
      signal: new AbortController().signal,
      killSignal: new AbortController().signal,
    };
  };
  const thatFails = (servers: DatabaseServers): DatabaseServers => {
    const step = failing;
    if (step === undefined || step === "setDatabase") return servers;
    // Whatever the step is called with, it is called with that.
    const act = servers[step] as (...args: unknown[]) => unknown;
    const fail = async (...args: unknown[]): Promise<never> => {
      await act(...args);
      throw new Error(WANTED);
    };
    return { ...servers, [step]: fail };
  };
  const withDatabase = (change: { readonly image: string; readonly data?: string }): void => {
    plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, ...change } };
  };
  const upgrade = () => upgradePostgres(run(), { image: next, yes: true });
  const inside = (...command: string[]) => host.pct("exec", "699", "--", ...command);
  const sql = (text: string) => {
    const psql = ["psql", "-XqAt", "-U", "postgres", "-d", "cairn", "-v", "ON_ERROR_STOP=1", "-c", text];
    return inside("docker", "exec", "fleet-postgres", ...psql).trim();
  };
  const data = (...below: string[]) => join(host.dataDir, "fleet", ...below);
  const majorIn = (directory: string) => readFileSync(data(directory, "PG_VERSION"), "utf8").trim();
  const starts = () =>
    readFileSync(data("one", "home", "starts"), "utf8")
      .trim()
      .split("\n");

  beforeAll(async () => {
    const { postgres } = await ensureTestImages();
    next = await ensureNextPostgres();
    host = await startProxmox();
    dir = mkdtempSync(join(tmpdir(), "cairn-pve-pg-"));
    node = makeImage(dir, join(host.template, "bin", "busybox"), "1");
    const bare = host.plan();
    const network = bare.nodes[0]?.address.replace(/\.\d+\/24$/, "") ?? "";
    plan = {
      ...bare,
      postgres: { image: postgres, limits: { memoryBytes: 512 * 1024 ** 2, cpus: null }, publish: null },
      postgresVmid: 699,
      postgresAddress: `${network}.10/24`,
    };
    // The played engine has the node's image, the real one those of PostgreSQL.
    process.env.PATH = `${host.engineWith(node)}:${path}`;
    const { signal } = new AbortController();
    await createProxmoxDriver(plan).deliverImage(node.identity, host.ssh.host, () => undefined, signal);
    process.env.PATH = path;
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    sql(`SET ROLE cairn; CREATE TABLE kept AS ${TABLE}; CREATE INDEX ON kept USING hnsw (vec vector_l2_ops)`);
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    process.env.PATH = path;
    await host?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("is not started on an image of another major by `up`", async () => {
    const { postgres } = plan;
    withDatabase({ image: next });
    const hint = expect.stringContaining("`cairn infra postgres upgrade`");
    await expect(up(run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint } });
    expect(await preview(run())).toMatchObject({
      warnings: expect.arrayContaining([expect.objectContaining({ code: "INFRA_UP_REFUSED", hint })]),
    });
    plan = { ...plan, postgres };
    expect(sql("SELECT count(*) FROM kept")).toBe("5000");
  });

  it.each(["startSecond", "copy", "contents", "stop"] as const)("is as it was where %s fails", async (step) => {
    failing = step;
    await expect(upgrade()).rejects.toThrow(WANTED);
    failing = undefined;
    expect(existsSync(join(dir, "infra/postgres-upgrade.json"))).toBe(false);
    expect(existsSync(data("postgres", ".cairn-upgrade"))).toBe(false);
    expect(inside("docker", "ps", "--all", "--format", "{{.Names}}").trim()).toBe("fleet-postgres");
    expect(sql("SHOW server_version")).toMatch(/^17/);
    expect(sql("SELECT datconnlimit FROM pg_database WHERE datname = 'cairn'")).toBe("-1");
    expect((await preview(run())).changes).toEqual([]);
  });

  it.each(["handOver", "setDatabase"] as const)("is only to be finished once %s was cut off", async (step) => {
    failing = step;
    const hint = expect.stringContaining("`cairn infra postgres upgrade`");
    await expect(upgrade()).rejects.toMatchObject({ details: { hint } });
    failing = undefined;
    expect(majorIn("postgres")).toBe("17");
    expect(majorIn("postgres-18")).toBe("18");
    await expect(up(run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint } });
  });

  it("goes to the next major with all its rows, and nothing is left to apply", async () => {
    const before = starts();
    expect(await upgrade()).toMatchObject({
      outcome: "upgraded",
      from: { major: 17, volume: "fleet-postgres-data" },
      to: { major: 18, volume: "fleet-postgres-18-data" },
      tables: expect.any(Number),
      kept: { removal: expect.stringMatching(/ rm -r .*\/fleet\/postgres$/) },
    });
    expect(sql("SHOW server_version")).toMatch(/^18/);
    expect(sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect(majorIn("postgres")).toBe("17");
    // The node has run on.
    expect(starts()).toEqual(before);
    expect((await preview(run())).changes).toEqual([]);
    expect(await up(run(), UP)).toMatchObject({ healthy: true, changes: [], drift: [] });
    expect(await status(run())).toMatchObject({ healthy: true });
    expect(await upgrade()).toMatchObject({ outcome: "unchanged" });
  });
});
