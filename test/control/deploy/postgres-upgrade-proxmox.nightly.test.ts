/**
 * A stack on Proxmox whose PostgreSQL goes from 17 to 18, also after failures at each step: the operations of `infra`, the real engine
 * and command provider, sshd, LXC, Docker and both servers in it; `pct` and the node are played.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type ProxmoxDatabase, proxmoxDatabase, WANTED } from "../../support/proxmox/database.ts";

describe.skipIf(lacks("lxc", "pulumi-command", "docker-images"))("PostgreSQL of a stack on Proxmox", () => {
  let stack: ProxmoxDatabase;
  const majorIn = (directory: string) => readFileSync(stack.data(directory, "PG_VERSION"), "utf8").trim();

  beforeAll(async () => {
    stack = await proxmoxDatabase();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.stop());

  it("is not started on an image of another major by `up`", async () => {
    const former = stack.image();
    stack.setImage(stack.next);
    const hint = expect.stringContaining("`cairn infra postgres upgrade`");
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint } });
    expect(await preview(stack.run())).toMatchObject({
      warnings: expect.arrayContaining([expect.objectContaining({ code: "INFRA_UP_REFUSED", hint })]),
    });
    stack.setImage(former);
    expect(stack.sql("SELECT count(*) FROM kept")).toBe("5000");
  });

  it.each(["startSecond", "copy", "contents", "stop"] as const)("is as it was where %s fails", async (step) => {
    stack.failing(step);
    await expect(stack.upgrade()).rejects.toThrow(WANTED);
    stack.failing();
    expect(existsSync(join(stack.dir, "infra/postgres-upgrade.json"))).toBe(false);
    expect(existsSync(stack.data("postgres", ".cairn-upgrade"))).toBe(false);
    expect(stack.inside("docker", "ps", "--all", "--format", "{{.Names}}").trim()).toBe("fleet-postgres");
    expect(stack.sql("SHOW server_version")).toMatch(/^17/);
    expect(stack.sql("SELECT datconnlimit FROM pg_database WHERE datname = 'cairn'")).toBe("-1");
    expect((await preview(stack.run())).changes).toEqual([]);
  });

  it.each(["handOver", "setDatabase"] as const)("is only to be finished once %s was cut off", async (step) => {
    stack.failing(step);
    const hint = expect.stringContaining("`cairn infra postgres upgrade`");
    await expect(stack.upgrade()).rejects.toMatchObject({ details: { hint } });
    stack.failing();
    expect(majorIn("postgres")).toBe("17");
    expect(majorIn("postgres-18")).toBe("18");
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_UP_REFUSED", details: { hint } });
  });

  it("goes to the next major with all its rows, and nothing is left to apply", async () => {
    const before = stack.starts();
    expect(await stack.upgrade()).toMatchObject({
      outcome: "upgraded",
      from: { major: 17, volume: "fleet-postgres-data" },
      to: { major: 18, volume: "fleet-postgres-18-data" },
      tables: expect.any(Number),
      kept: { removal: expect.stringMatching(/ rm -r .*\/fleet\/postgres$/) },
    });
    expect(stack.sql("SHOW server_version")).toMatch(/^18/);
    expect(stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect(majorIn("postgres")).toBe("17");
    // The node has run on.
    expect(stack.starts()).toEqual(before);
    expect((await preview(stack.run())).changes).toEqual([]);
    expect(await stack.up()).toMatchObject({ healthy: true, changes: [], drift: [] });
    expect(await status(stack.run())).toMatchObject({ healthy: true });
    expect(await stack.upgrade()).toMatchObject({ outcome: "unchanged" });
  });
});
