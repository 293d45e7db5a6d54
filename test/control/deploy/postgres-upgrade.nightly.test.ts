/** A stack on real Docker whose PostgreSQL goes from 17 to 18: also after kills, and nothing is left to apply. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DatabaseSettings } from "../../../control/deploy/node-settings.ts";
import { upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import { lacks } from "../../lanes/tools.ts";
import { ensureNextPostgres, IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type OperatedStack, prepareOperatedStack } from "../../support/docker/operated-stack.ts";
import { docker } from "../../support/docker-lane.ts";

const TABLE = "SELECT n, md5(n::text), array[n, n + 0.5]::vector(2) AS vec FROM generate_series(1, 5000) AS n";

describe.skipIf(lacks("docker", "pulumi-docker", "pulumi-command"))("PostgreSQL of a stack on Docker", () => {
  let stack: OperatedStack;
  let image: string;

  /** `backup` needs a node that answers, which the stand-in does not. */
  const upgrade = (more: { readonly failing?: string } = {}) => {
    const run = stack.run();
    const fail = (what: string): void => {
      if (more.failing === what) throw new Error("as the test wants it");
    };
    const services = {
      ...run.services,
      backup: async () => "backups/none",
      nodes: {
        call: () => Promise.reject(new Error("no node is called here")),
        gate: async () => undefined,
        pause: async () => undefined,
        resume: async () => undefined,
      },
      configuration: {
        ...run.services.configuration,
        setDatabase: async (to: DatabaseSettings) => {
          fail("before the edit");
          await run.services.configuration.setDatabase(to);
          fail("after the edit");
        },
      },
    };
    return upgradePostgres({ ...run, services }, { image, yes: true });
  };

  beforeAll(async () => {
    image = await ensureNextPostgres();
    stack = await prepareOperatedStack(["one", "two"]);
    await stack.up();
    await stack.sql(
      `SET ROLE cairn; CREATE TABLE kept AS ${TABLE}; CREATE INDEX ON kept USING hnsw (vec vector_l2_ops)`,
    );
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.remove());

  it("is not started on an image of another major by `up`", async () => {
    const file = join(stack.dir, "cairn.yaml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("cairn-test/postgres:17", image));
    const warnings = expect.arrayContaining([
      expect.objectContaining({
        code: "INFRA_UP_REFUSED",
        hint: expect.stringContaining("`cairn infra postgres upgrade`"),
      }),
    ]);
    expect(await stack.preview()).toMatchObject({ warnings });
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    writeFileSync(file, text);
    expect(await stack.sql("SELECT count(*) FROM kept")).toBe("5000");
  });

  it("goes to the next major with all its rows, also where the switch was cut off, and nothing is left to apply", async () => {
    const nodes = await docker("ps", "--quiet", "--filter", `name=${stack.name}-(one|two)$`);
    await expect(upgrade({ failing: "after the edit" })).rejects.toMatchObject({
      details: { hint: expect.stringContaining("`cairn infra postgres upgrade`") },
    });
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    const former = `${stack.name}-postgres-data`;
    expect(await upgrade()).toMatchObject({
      outcome: "upgraded",
      from: { major: 17, volume: former },
      to: { major: 18, volume: `${stack.name}-postgres-18-data` },
      kept: { volume: former, removal: `docker volume rm ${former}` },
    });
    expect(await stack.sql("SHOW server_version")).toMatch(/^18/);
    expect(await stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    // The nodes have run on, and the volume of before is there.
    expect(await docker("ps", "--quiet", "--filter", `name=${stack.name}-(one|two)$`)).toBe(nodes);
    expect(await docker("volume", "inspect", "--format", "{{.Name}}", former)).toBe(former);
    expect((await stack.preview()).changes).toEqual([]);
    expect(await stack.up()).toMatchObject({ healthy: true, changes: [] });
    expect(await stack.status()).toMatchObject({ healthy: true });
    expect(
      await docker("ps", "--all", "--format", "{{.Names}}", "--filter", `name=${stack.name}-postgres-upgrade`),
    ).toBe("");
    expect(await upgrade()).toMatchObject({ outcome: "unchanged" });
  });
});
