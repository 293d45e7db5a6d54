/**
 * The Proxmox host is lost, rebooted or silent in the middle of a command: it is said in a sentence, in a bounded time, and the
 * same command finishes. Real engine, command provider, sshd, LXC, Docker and PostgreSQL; `pct` and the node are played.
 */

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProxmoxDriver } from "../../../control/deploy/drivers/proxmox/driver.ts";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type ProxmoxDatabase, proxmoxDatabase } from "../../support/proxmox/database.ts";

const DESTROY = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined };

describe.skipIf(lacks("lxc", "pulumi-command", "docker-images"))("a Proxmox host", { concurrent: false }, () => {
  let stack: ProxmoxDatabase;
  const inHost = (name: string) => join(stack.host.state, name);
  const creations = () => readFileSync(inHost("calls"), "utf8").match(/^pct create \d+/gm) ?? [];

  /** The error of an `up` while which `act` is called, as soon as the host makes a CT. */
  const meanwhile = async (act: () => void): Promise<unknown> => {
    rmSync(inHost("creating"), { force: true });
    writeFileSync(inHost("slow-create"), "5");
    const failed = stack.up().then(
      () => expect.unreachable("the host was not itself"),
      (error: unknown) => error,
    );
    await expect.poll(() => existsSync(inHost("creating"))).toBe(true);
    act();
    rmSync(inHost("slow-create"));
    return failed;
  };
  const isWhole = async () => {
    expect(stack.sql("SELECT count(*), sum(n) FROM kept WHERE md5(n::text) = md5")).toBe("5000|12502500");
    expect(await status(stack.run())).toMatchObject({ healthy: true });
    expect(await preview(stack.run())).toMatchObject({ changes: [], drift: [] });
  };

  beforeAll(async () => {
    stack = await proxmoxDatabase();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => stack?.stop());

  it("that is rebooted in the middle of `up` is named, and the same command finishes what it left", async () => {
    stack.addNode("two", 701, 12);
    const error = await meanwhile(() => {
      writeFileSync(inHost("die-in-create"), "");
      stack.road.cut();
      for (const vmid of ["699", "700"]) stack.host.pct("stop", vmid);
    });
    expect(error).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "The target was lost in the middle of the work, when this was changed: fleet-two-ct.",
      details: { hint: expect.stringContaining("Then run the same command again") },
    });
    await expect(stack.up()).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: expect.stringContaining("could not be reached over SSH"),
    });
    // Its creation broke off with the host.
    await expect.poll(() => existsSync(inHost("die-in-create"))).toBe(false);
    expect(stack.host.pct("config", "701")).toBe("lock: create\n");
    stack.road.clear();
    expect(await stack.up()).toMatchObject({ healthy: true });
    expect(stack.starts("two")).toEqual(["start 1"]);
    await isWhole();
  });

  it("that falls silent in the middle of `up` is given up, and the same command finishes", async () => {
    stack.addNode("three", 702, 13);
    const error = await meanwhile(() => stack.road.silence());
    expect(error).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: expect.stringMatching(
        /^The target was lost in the middle of the work: 127\.0\.0\.1 could not be reached/,
      ),
      details: { hint: expect.stringContaining("run the same command again") },
    });
    stack.road.clear();
    expect(await stack.up()).toMatchObject({ healthy: true });
    expect(creations().filter((call) => call === "pct create 702")).toHaveLength(1);
    expect(stack.starts("three")).toEqual(["start 1"]);
    await isWhole();
  });

  it("that accepts connections and says nothing keeps no command waiting", async () => {
    stack.road.silence();
    try {
      const gone = { code: "INFRA_HOST_UNREACHABLE", message: expect.stringContaining("127.0.0.1") };
      const { signal } = new AbortController();
      const { plan } = await stack.run().services.readProject(stack.dir, signal);
      if (plan.target !== "proxmox") throw new Error("it is");
      const outcomes = await Promise.allSettled([
        createProxmoxDriver(plan).connect("one", signal),
        preview(stack.run()),
      ]);
      for (const one of outcomes) expect(one).toMatchObject({ status: "rejected", reason: gone });
      await expect(stack.up()).rejects.toMatchObject(gone);
      await expect(destroy(stack.run(), DESTROY)).rejects.toMatchObject(gone);
      await expect(stack.upgrade()).rejects.toMatchObject(gone);
      const { healthy, nodes } = await status(stack.run());
      expect({ healthy, states: new Set(nodes.map(({ state }) => state)) }).toEqual({
        healthy: false,
        states: new Set(["unknown"]),
      });
    } finally {
      stack.road.clear();
    }
    await isWhole();
  });
});
