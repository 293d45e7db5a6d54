/**
 * `infra recover` of an upgrade of PostgreSQL that was cut off on Proxmox, the passphrase lost as well: it goes on with the data that
 * count. Real engine, command provider, sshd, LXC, Docker and both servers; `pct` and the node are played.
 */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { recover } from "../../../control/deploy/operations/recover.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type ProxmoxDatabase, proxmoxDatabase } from "../../support/proxmox/database.ts";

describe.skipIf(lacks("lxc", "pulumi-command", "docker-images"))("a cut-off upgrade of PostgreSQL on Proxmox", () => {
  let stack: ProxmoxDatabase;
  const journal = () => join(stack.dir, "infra", "postgres-upgrade.json");

  /** The passphrase goes as well; then the one command. */
  const recovered = async () => {
    expect(existsSync(journal())).toBe(true);
    rmSync(join(stack.dir, "infra", ".passphrase"));
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_PASSPHRASE_LOST" });
    expect(await recover(stack.run(), { confirm: "fleet" })).toMatchObject({ healthy: true });
    expect(existsSync(journal())).toBe(false);
    expect(stack.inside("docker", "ps", "--all", "--format", "{{.Names}}").trim()).toBe("fleet-postgres");
    expect(stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect(stack.sql("SELECT datconnlimit FROM pg_database WHERE datname = 'cairn'")).toBe("-1");
    expect(await preview(stack.run())).toMatchObject({ changes: [], drift: [] });
  };

  beforeAll(async () => {
    stack = await proxmoxDatabase();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.stop());

  it("goes on with the former data while it copied, and with nothing of the new ones", async () => {
    // As after a kill: what was begun is not taken back.
    stack.failing("copy", "start");
    await expect(stack.upgrade()).rejects.toThrow();
    stack.failing();
    expect(existsSync(stack.data("postgres", ".cairn-upgrade"))).toBe(true);
    await recovered();
    expect(stack.sql("SHOW server_version")).toMatch(/^17/);
    expect(existsSync(stack.data("postgres", ".cairn-upgrade"))).toBe(false);
  });

  it("goes on with the new data once it switches, and the former ones stay", async () => {
    stack.failing("handOver");
    await expect(stack.upgrade()).rejects.toThrow();
    stack.failing();
    await recovered();
    expect(stack.sql("SHOW server_version")).toMatch(/^18/);
    expect(readFileSync(stack.data("postgres", "PG_VERSION"), "utf8").trim()).toBe("17");
    expect(await stack.upgrade()).toMatchObject({ outcome: "unchanged" });
  });
});
