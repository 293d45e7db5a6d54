/**
 * The Proxmox target for real but for `pct`: the real engine and command provider, Debian's sshd, real unprivileged LXC
 * containers with a real Docker in each, and a small image that plays the node.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpResult } from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PartAction } from "../../../control/deploy/driver.ts";
import { createProxmoxDriver } from "../../../control/deploy/drivers/proxmox/driver.ts";
import { exportedState, resourcesOf } from "../../../control/deploy/engine/checkpoint.ts";
import type { ProxmoxPlan } from "../../../infra/plan/types.ts";
import { lacks } from "../../lanes/tools.ts";
import { type ProxmoxTestHost, startProxmox } from "../../support/proxmox/host.ts";
import { makeImage, type TestImage } from "../../support/proxmox/image.ts";
import { openStack } from "../../support/proxmox/stack.ts";

const signal = new AbortController().signal;

describe.skipIf(lacks("lxc", "pulumi-command"))("a stack on Proxmox", () => {
  let host: ProxmoxTestHost;
  let image: TestImage;
  let folder: string;
  let plan: ProxmoxPlan;
  const path = process.env.PATH ?? "";

  beforeAll(async () => {
    host = await startProxmox();
    folder = mkdtempSync(join(tmpdir(), "cairn-stack-"));
    image = makeImage(folder, join(host.template, "bin", "busybox"), "1");
    plan = host.plan({}, { image: image.identity });
    // Of the engine on this machine only what is asked of it here.
    process.env.PATH = `${host.engineWith(image)}:${path}`;
  });
  afterAll(async () => {
    process.env.PATH = path;
    await host?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const driver = (now = plan) => createProxmoxDriver(now);
  const drift = async () => {
    const state = exportedState.parse(await (await openStack(folder, plan)).exportStack());
    return (await driver().inspect(resourcesOf(state), signal)).drift;
  };
  const data = (name: string): string => join(host.dataDir, "fleet", "one", "home", name);
  const starts = (): string[] => readFileSync(data("starts"), "utf8").trim().split("\n");

  it("comes up healthy from nothing", async () => {
    expect(await driver().preflight(signal)).toEqual([]);
    for (const place of driver().imagePlaces()) await driver().deliverImage(image.identity, place, () => {}, signal);
    const { outputs } = await (await openStack(folder, plan)).up();
    expect(outputs["nodes"]?.value).toEqual([
      { name: "one", workload: "700", place: host.ssh.host, image: `cairn-image:${image.identity.id?.slice(7)}` },
    ]);
    const healthy = [{ name: "one", state: "running", health: "healthy" }];
    await expect.poll(() => driver().observe(signal)).toMatchObject(healthy);
    expect(await driver().hasImage(image.identity, host.ssh.host, signal)).toBe(true);
  });

  it("runs as an unprivileged user on its own data, and answers through the driver's connection", async () => {
    expect(readFileSync(data("uid"), "utf8").trim()).toBe("1000");
    expect(statSync(data("uid")).uid).toBe(101_000);
    const connection = await driver().connect("one", signal);
    try {
      const answers = await Promise.all([1, 2].map(async () => (await fetch(connection.url)).text()));
      expect(answers).toEqual(["node 1\n", "node 1\n"]);
    } finally {
      await connection.close();
    }
    await expect(fetch(connection.url)).rejects.toThrow();
  });

  it("is entered by its log and by commands, whose streams and exit code are the command's own", async () => {
    const run = async (action: PartAction, input = "") => {
      const { program, args, close } = await driver().enter({ kind: "node", name: "one" }, action, signal);
      try {
        const { stdout, exitCode } = await execa(program, [...args], { input, reject: false });
        return { stdout, exitCode };
      } finally {
        await close();
      }
    };
    const logs = await run({ kind: "logs", lines: 5, follow: false, since: null });
    expect(logs.exitCode).toBe(0);
    const argv = ["sh", "-c", 'cat; echo "it\'s $0"; exit 7', "two words"];
    expect(await run({ kind: "exec", argv, terminal: false }, "typed\n")).toEqual({
      stdout: "typed\nit's two words",
      exitCode: 7,
    });
    // At a terminal the command has one, too: `id` of busybox ends its line there with a carriage return.
    const atTerminal = await run({
      kind: "exec",
      argv: ["sh", "-c", "test -t 0 && test -t 1 && id -u"],
      terminal: true,
    });
    expect(atTerminal).toEqual({ stdout: expect.stringMatching(/^1000\r?$/m), exitCode: 0 });
    const other = driver().enter({ kind: "postgres" }, { kind: "exec", argv, terminal: false }, signal);
    await expect(other).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
  });

  it("gets its secrets as a file, and keeps them from command lines, the host's disk and the open state", async () => {
    expect(readFileSync(data("seen.env"), "utf8")).toContain("SERVICE_API_TOKEN=very-secret-word");
    expect(readFileSync(join(host.state, "calls"), "utf8")).not.toContain("very-secret-word");
    const states = readdirSync(join(folder, "state"), { recursive: true, withFileTypes: true }).filter((e) =>
      e.isFile(),
    );
    expect(states.length).toBeGreaterThan(0);
    for (const entry of states) {
      const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
      expect(text).not.toContain("very-secret-word");
      expect(text).not.toContain("OPENSSH PRIVATE KEY");
    }
    expect(host.pct("exec", "700", "--", "stat", "-c", "%a %u:%g", "/etc/cairn/.env")).toBe("440 0:0\n");
    expect(host.pct("exec", "700", "--", "docker", "inspect", "fleet-one")).not.toContain("very-secret-word");
  });

  it("changes nothing when nothing has changed", async () => {
    expect(changes(await (await openStack(folder, plan)).up())).toEqual({});
    expect(await drift()).toEqual([]);
  });

  it("changes one setting of the CT and nothing else, without a restart", async () => {
    plan = { ...plan, nameserver: "10.0.0.53" };
    expect(await drift()).toEqual([]);
    expect(changes(await (await openStack(folder, plan)).up())).toEqual({ update: 1 });
    expect(host.pct("config", "700")).toContain("nameserver: 10.0.0.53");
    expect(starts()).toEqual(["start 1"]);
  });

  it("keeps the data when it is destroyed, ends its node gracefully, and finds the data again", async () => {
    await (await openStack(folder, plan)).destroy({ excludeProtected: true });
    expect(() => host.pct("config", "700")).toThrow();
    expect(starts()).toEqual(["start 1", "graceful"]);
    expect((await driver().existingData(signal)).map(({ name, stack }) => [name, stack])).toEqual([
      ["fleet-one-home", "fleet"],
    ]);
    expect(changes(await (await openStack(folder, plan)).up())).toEqual({ create: 4 });
    await expect.poll(starts).toEqual(["start 1", "graceful", "start 1"]);
  });

  it("removes data only when it is told which, and not while a CT has them", async () => {
    const found = await driver().existingData(signal);
    await expect(driver().deleteData(found, signal)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
    await (await openStack(folder, plan)).destroy({ excludeProtected: true });
    await driver().deleteData(found, signal);
    expect(await driver().existingData(signal)).toEqual([]);
  });
});

/** What was done, without what stayed. */
function changes(result: UpResult): Record<string, number> {
  const { same: _, ...rest } = result.summary.resourceChanges ?? {};
  return rest;
}
