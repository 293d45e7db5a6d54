/**
 * The disk of the Proxmox host full, in the middle of `up` and of an upgrade of PostgreSQL: said, and finished with room. Real engine,
 * command provider, sshd, LXC, Docker and PostgreSQL; `pct` and the node are played.
 */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { emptyDisk, fillDisk } from "../../support/faults/full-disk.ts";
import { type ProxmoxDatabase, proxmoxDatabase } from "../../support/proxmox/database.ts";

const DISK_MIB = 6_144;
const MIB = 1024 ** 2;

describe.skipIf(lacks("lxc", "pulumi-command", "docker-images"))("a full disk of a Proxmox host", () => {
  let stack: ProxmoxDatabase;
  const disk = () => stack.host.dataDir;
  const inHost = (name: string) => join(stack.host.state, name);
  const isWhole = async () => {
    expect(stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect(await status(stack.run())).toMatchObject({ healthy: true });
    expect(await preview(stack.run())).toMatchObject({ changes: [], drift: [] });
  };
  /** At the latest the same command says so before it begins: a CT or a program that cannot even start may have no word for it. */
  const isNamed = async (error: unknown, command: () => Promise<unknown>) => {
    expect(error).toBeInstanceOf(InfraError);
    if (error instanceof InfraError && error.code === "INFRA_DISK_FULL") return;
    await expect(command()).rejects.toMatchObject({ code: "INFRA_DISK_FULL" });
  };
  /** Full from this phase of a command on. */
  const fullFrom = (phase: string) => {
    stack.watch((event) => {
      if (event.event === "phase" && event.phase === phase) fillDisk(disk(), 0);
    });
  };
  const withRoom = async () => {
    stack.watch(() => undefined);
    emptyDisk(disk());
    await expect
      .poll(async () => (await status(stack.run())).nodes.map(({ health }) => health))
      .not.toContain("unhealthy");
  };

  beforeAll(async () => {
    stack = await proxmoxDatabase({ diskMiB: DISK_MIB });
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.stop());

  it("keeps `up` from beginning", async () => {
    stack.addNode("two", 701, 12);
    fillDisk(disk(), 500 * MIB);
    await expect(stack.up()).rejects.toMatchObject({ code: "INFRA_DISK_FULL" });
    expect(existsSync(inHost("conf/701"))).toBe(false);
    await withRoom();
  });

  it("in the middle of `up` is named, and the same command finishes what it left", async () => {
    writeFileSync(inHost("slow-create"), "3");
    const ended = stack.up().catch((error: unknown) => error);
    await expect.poll(() => existsSync(inHost("creating"))).toBe(true);
    fillDisk(disk(), 0);
    rmSync(inHost("slow-create"));
    await isNamed(await ended, stack.up);
    await withRoom();
    expect(await stack.up()).toMatchObject({ healthy: true });
    expect(stack.starts("two")).toEqual(["start 1"]);
    await isWhole();
  });

  it("at each phase of an upgrade of PostgreSQL is named, and with room the same command finishes", async () => {
    for (const phase of ["start", "copy"]) {
      fullFrom(phase);
      await isNamed(await stack.upgrade().catch((error: unknown) => error), stack.upgrade);
      await withRoom();
    }
    // The server that is stopped leaves some room, which may be all that the switch needs.
    fullFrom("switch");
    const ended = await stack.upgrade().catch((error: unknown) => error);
    if (ended instanceof InfraError) await isNamed(ended, stack.upgrade);
    await withRoom();
    expect(ended instanceof InfraError ? await stack.upgrade() : ended).toMatchObject({ outcome: "upgraded" });
    expect(stack.sql("SHOW server_version")).toMatch(/^18/);
    await isWhole();
  });
});
