/**
 * A stack on a live cluster whose PostgreSQL goes from 17 to 18, also after failures at each step: the operations of `infra`, the real
 * engine and provider, both servers in pods; the node is played.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { recover } from "../../../control/deploy/operations/recover.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { databaseDataOf } from "../../../infra/plan/names.ts";
import { lacks } from "../../lanes/tools.ts";
import { ensureNextPostgres, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { kubectlProgram } from "../../support/kubernetes/binaries.ts";
import { type LiveCluster, loadImage, useLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { type OperatedCluster, prepareOperatedCluster, WANTED } from "../../support/kubernetes/operated-stack.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const TABLE = "SELECT n, md5(n::text), array[n, n + 0.5]::vector(2) AS vec FROM generate_series(1, 5000) AS n";
const CLOSER = fileURLToPath(new URL("../../support/kubernetes/close-database.ts", import.meta.url));
const LIMIT = "SELECT datconnlimit FROM pg_database WHERE datname = 'cairn'";
const AGAIN = expect.stringContaining("`cairn infra postgres upgrade`");

describe.skipIf(lacks("live-cluster", "live-cluster-images", "pulumi-kubernetes"))("PostgreSQL of a stack", () => {
  let cluster: LiveCluster;
  let stack: OperatedCluster;
  let next: string;

  const upgrade = () => upgradePostgres(stack.run(), { image: next, yes: true });
  const pods = async () => (await stack.kubectl("get", "pods", "--output=name")).split("\n").sort();
  const folders = async () =>
    (await stack.kubectl("exec", "cairn-postgres-0", "--", "ls", "/var/lib/postgresql/data")).split("\n");
  const nodeUid = () => stack.kubectl("get", "pod", "cairn-main-0", "--output=jsonpath={.metadata.uid}");

  beforeAll(async () => {
    cluster = await useLiveCluster();
    next = await ensureNextPostgres();
    await loadImage(cluster, next);
    stack = await prepareOperatedCluster(cluster, ["main"]);
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
    await stack.sql(
      `SET ROLE cairn; CREATE TABLE kept AS ${TABLE}; CREATE INDEX ON kept USING hnsw (vec vector_l2_ops)`,
    );
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    await stack?.remove();
    await cluster?.stop();
  });

  it("is not started on an image of another major by `up`, nor where it does not run", async () => {
    const { plan } = stack;
    stack.plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, image: next } };
    await expect(up(stack.run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint: AGAIN } });
    const warnings = expect.arrayContaining([expect.objectContaining({ code: "INFRA_UP_REFUSED", hint: AGAIN })]);
    expect(await preview(stack.run())).toMatchObject({ warnings });
    await stack.kubectl("scale", "statefulset", "cairn-postgres", "--replicas=0");
    await stack.kubectl("wait", "--for=delete", "pod/cairn-postgres-0", "--timeout=60s");
    await expect(up(stack.run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    stack.plan = plan;
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
    expect(await pods()).toEqual(["pod/cairn-main-0", "pod/cairn-postgres-0"]);
    expect(await stack.sql("SELECT count(*) FROM kept")).toBe("5000");
  });

  it("lets nodes in again when the command that kept them out is killed", async () => {
    const { kubeconfig, context } = cluster;
    const words = [CLOSER, kubectlProgram(), kubeconfig, context, stack.plan.namespace];
    const closer = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    await once(closer.stdout, "data");
    expect(await stack.sql(LIMIT)).toBe("0");
    closer.kill("SIGKILL");
    await expect.poll(() => stack.sql(LIMIT), { timeout: 60_000 }).toBe("-1");
  });

  it.each(["startSecond", "copy", "contents", "stop"] as const)("is as it was where %s fails", async (step) => {
    stack.failing = step;
    await expect(upgrade()).rejects.toThrow(WANTED);
    stack.failing = undefined;
    expect(existsSync(join(stack.dir, "infra/postgres-upgrade.json"))).toBe(false);
    expect(await folders()).toEqual(["pgdata"]);
    expect(await pods()).toEqual(["pod/cairn-main-0", "pod/cairn-postgres-0"]);
    expect(await stack.sql("SHOW server_version")).toMatch(/^17/);
    expect(await stack.sql(LIMIT)).toBe("-1");
    expect((await preview(stack.run())).changes).toEqual([]);
  });

  it.each(["handOver", "setDatabase"] as const)("is only to be finished once %s was cut off", async (step) => {
    stack.failing = step;
    await expect(upgrade()).rejects.toMatchObject({ details: { hint: AGAIN } });
    stack.failing = undefined;
    await expect(up(stack.run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint: AGAIN } });
  });

  it("goes to the next major with all its rows, and nothing is left to apply", async () => {
    const before = await nodeUid();
    expect(await upgrade()).toMatchObject({
      outcome: "upgraded",
      from: { major: 17, volume: "cairn-postgres-data" },
      to: { major: 18, volume: "cairn-postgres-18-data" },
      kept: { removal: expect.stringMatching(/ exec cairn-postgres-0 -- rm -r \/var\/lib\/postgresql\/data\/pgdata$/) },
    });
    expect(await stack.sql("SHOW server_version")).toMatch(/^18/);
    expect(await stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect((await folders()).sort()).toEqual(["pgdata", "postgres-18"]);
    // The node has run on.
    expect(await nodeUid()).toBe(before);
    expect(await pods()).toEqual(["pod/cairn-main-0", "pod/cairn-postgres-0"]);
    expect((await preview(stack.run())).changes).toEqual([]);
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true, changes: [], drift: [] });
    expect(await status(stack.run())).toMatchObject({ healthy: true });
    expect(await upgrade()).toMatchObject({ outcome: "unchanged" });
  });

  it("keeps its data where the state is lost afterwards", async () => {
    expect(stack.plan.postgres?.data).toBe(databaseDataOf("cairn", 18));
    expect(await recover(stack.run(), { confirm: "cairn" })).toMatchObject({ healthy: true });
    expect(await stack.sql("SELECT count(*) FROM kept")).toBe("5000");
    expect(await stack.sql("SHOW server_version")).toMatch(/^18/);
  });
});
