/** The driver and the scripts against a stand-in Proxmox over a real sshd: what they refuse, and what an interruption leaves. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createProxmoxDriver } from "../../../../../control/deploy/drivers/proxmox/driver.ts";
import { withHost } from "../../../../../control/deploy/drivers/proxmox/host/host.ts";
import { nodeCt } from "../../../../../infra/components/proxmox/ct.ts";
import { deleteCt, ensureCt } from "../../../../../infra/components/proxmox/ct-scripts.ts";
import { ensureDirectory } from "../../../../../infra/components/proxmox/data-scripts.ts";
import { ctImage, ensureImage } from "../../../../../infra/components/proxmox/docker-scripts.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { lacks } from "../../../../lanes/tools.ts";
import { type ProxmoxTestHost, startProxmox } from "../../../../support/proxmox/host.ts";
import { makeImage, type TestImage } from "../../../../support/proxmox/image.ts";
import { startSshd } from "../../../../support/ssh/sshd.ts";

const signal = new AbortController().signal;
const ignore = (): void => {};

describe.skipIf(lacks("lxc"))("the Proxmox driver", () => {
  let host: ProxmoxTestHost;
  let image: TestImage;
  let folder: string;
  let plan: ProxmoxPlan;
  const path = process.env.PATH ?? "";

  beforeAll(async () => {
    host = await startProxmox();
    folder = mkdtempSync(join(tmpdir(), "cairn-driver-"));
    image = makeImage(folder, join(host.template, "bin", "busybox"), "1");
    plan = host.plan({}, { image: image.identity });
  });
  afterAll(async () => {
    await host?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    process.env.PATH = path;
    rmSync(host.dataDir, { recursive: true, force: true });
    mkdirSync(host.dataDir);
  });

  const run = (argv: readonly string[], input = "") =>
    withHost(plan, signal, (open) => open.run({ member: null, argv, input }));
  const [node] = [() => nodeCt(plan, plan.nodes[0] ?? fail())];
  const images = (): string[] => readdirSync(join(host.dataDir, ".images"));

  it("names the architecture of a node's host as Docker does", async () => {
    const [name = ""] = plan.nodes.map((one) => one.name);
    const names: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
    expect(await createProxmoxDriver(plan).architectures(name, signal)).toEqual([names[process.arch]]);
  });

  it("keeps the newest token of a rollout on the host, and refuses older ones there", async () => {
    const { fence } = createProxmoxDriver(plan);
    const command = (lease: number, command: number, stop = false) =>
      fence("one", { token: { fleet: "f", lease, command }, stop }, signal);
    await command(3, 7);
    // No CT is there: it is stopped.
    await command(3, 7, true);
    await expect(command(3, 6)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await expect(command(2, 99, true)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await command(4, 1);
  });

  describe("before anything is changed", () => {
    const found = async (change: Partial<ProxmoxPlan>) => {
      const findings = await createProxmoxDriver({ ...plan, ...change }).preflight(signal);
      return findings.map(({ severity, code }) => `${severity} ${code}`);
    };

    it("finds nothing wrong with a good plan", async () => expect(await found({})).toEqual([]));

    it("finds what is not there", async () => {
      const change = { storage: "nowhere", bridge: "nobridge", template: "local:vztmpl/none.tar.zst" };
      expect(await found(change)).toEqual(["error INFRA_FAILED", "error INFRA_IMAGE_MISSING", "error INFRA_FAILED"]);
    });

    it("finds a number that a virtual machine has", async () => {
      writeFileSync(join(host.state, "vms"), "700\n");
      expect(await found({})).toEqual(["error INFRA_UP_REFUSED"]);
      rmSync(join(host.state, "vms"));
    });

    it("takes a container whose creation broke off with the host for a free number where it was this stack's, alone", async () => {
      const conf = join(host.state, "conf", "700");
      mkdirSync(join(conf, ".."), { recursive: true });
      writeFileSync(conf, "lock: create\n");
      expect(await found({})).toEqual(["error INFRA_UP_REFUSED"]);
      const { intentFile } = node();
      mkdirSync(join(intentFile, ".."), { recursive: true });
      writeFileSync(intentFile, "");
      expect(await found({})).toEqual([]);
      writeFileSync(conf, "hostname: other\n");
      expect(await found({})).toEqual(["error INFRA_UP_REFUSED"]);
      rmSync(conf);
    });

    it("finds another host key, a key that is refused, one that is not there, and a host without pct", async () => {
      const { ssh } = plan;
      expect(await found({ ssh: { ...ssh, hostKey: host.ssh.otherKey } })).toEqual(["error INFRA_HOST_KEY_MISMATCH"]);
      expect(await found({ ssh: { ...ssh, identityFile: host.ssh.strangerFile } })).toEqual([
        "error INFRA_HOST_UNREACHABLE",
      ]);
      expect(await found({ ssh: { ...ssh, identityFile: join(folder, "none") } })).toEqual([
        "error INFRA_PLAN_INVALID",
      ]);
      const plain = await startSshd();
      try {
        expect(await found({ ssh: { ...plain } })).toEqual(["error INFRA_TOOL_MISSING"]);
      } finally {
        await plain.stop();
      }
    });

    it("does not take a host that does not answer for one without nodes", async () => {
      const driver = createProxmoxDriver({ ...plan, ssh: { ...plan.ssh, identityFile: host.ssh.strangerFile } });
      expect(await driver.observe(signal)).toMatchObject([{ name: "one", state: "unknown" }]);
      expect(await createProxmoxDriver(plan).observe(signal)).toMatchObject([{ name: "one", state: "missing" }]);
    });
  });

  describe("an image", () => {
    const place = () => host.ssh.host;

    it("is there whole or not at all, and is sent once", async () => {
      const driver = createProxmoxDriver(plan);
      process.env.PATH = `${host.engineWith({ identity: image.identity, file: "/dev/zero" })}:${path}`;
      const stopping = new AbortController();
      const endless = driver.deliverImage(image.identity, place(), ignore, stopping.signal);
      setTimeout(() => stopping.abort(new Error("enough")), 1_000);
      await expect(endless).rejects.toThrow("enough");
      expect(await driver.hasImage(image.identity, place(), signal)).toBe(false);

      process.env.PATH = `${host.engineWith(image)}:${path}`;
      await driver.deliverImage(image.identity, place(), ignore, signal);
      expect(images().filter((name) => name.endsWith(".tar"))).toEqual([`${image.identity.id?.slice(7)}.tar`]);
      process.env.PATH = path;
      const reports: string[] = [];
      await driver.deliverImage(image.identity, place(), (text) => reports.push(text), signal);
      expect(reports).toEqual([]);
    });

    it("that the engine cannot save whole is not kept", async () => {
      const engine = host.engineWith(image);
      writeFileSync(
        join(engine, "docker"),
        `#!/bin/sh\n[ "$1" = save ] || { echo '${image.identity.id}'; exit 0; }\nhead -c 4096 '${image.file}'; exit 1\n`,
      );
      process.env.PATH = `${engine}:${path}`;
      const sending = createProxmoxDriver(plan).deliverImage(image.identity, place(), ignore, signal);
      await expect(sending).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
      expect(images().filter((name) => name.endsWith(".tar"))).toEqual([]);
    });

    it("that nobody has is missed, and one with a digest is left to the CTs", async () => {
      process.env.PATH = `${host.engineWith(image)}:${path}`;
      const driver = createProxmoxDriver(plan);
      const other = { ...image.identity, id: `sha256:${"9".repeat(64)}` };
      await expect(driver.deliverImage(other, place(), ignore, signal)).rejects.toMatchObject({
        code: "INFRA_IMAGE_MISSING",
      });
      const digest = `registry.example/cairn@sha256:${"1".repeat(64)}`;
      const reports: string[] = [];
      await driver.deliverImage({ ...image.identity, digest }, place(), (text) => reports.push(text), signal);
      expect(reports).toEqual([expect.stringContaining("pulled by the containers")]);
    });
  });

  describe("a CT", () => {
    const others = (...more: string[]): void => {
      host.pct(
        "create",
        "700",
        plan.template,
        "--rootfs",
        "local-lvm:8",
        "--unprivileged",
        "1",
        "--hostname",
        "x",
        "--memory",
        "64",
        ...more,
      );
    };

    it("of somebody else is neither changed nor destroyed", async () => {
      others("--description", "cairn.stack=fleet cairn.node=two");
      const before = host.pct("config", "700");
      await expect(run(ensureCt(node()))).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
      await expect(run(deleteCt(node()))).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
      expect(host.pct("config", "700")).toBe(before);
      const findings = await createProxmoxDriver(plan).preflight(signal);
      expect(findings.map(({ code }) => code)).toEqual(["INFRA_UP_REFUSED"]);
      expect(await createProxmoxDriver(plan).observe(signal)).toMatchObject([{ state: "missing" }]);
      host.pct("destroy", "700");
    });

    it("with a volume that the plan does not know is not destroyed", async () => {
      others(
        "--description",
        "cairn.stack=fleet cairn.node=one",
        "--mp3",
        "local-lvm:vm-700-disk-1,mp=/precious,size=4G",
      );
      await expect(run(deleteCt(node()))).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
      expect(host.pct("config", "700")).toContain("/precious");
      host.pct("destroy", "700");
    });

    it("that is gone already is destroyed without complaint", async () => {
      expect(await run(deleteCt(node()))).toContain("is gone");
    });

    it("without its template is refused with the command that gets it", async () => {
      const spec = { ...node(), template: "local:vztmpl/none.tar.zst" };
      await expect(run(ensureCt(spec))).rejects.toMatchObject({
        code: "INFRA_IMAGE_MISSING",
        message: expect.stringContaining("pveam download local none.tar.zst"),
      });
    });

    it("gets no image that has not arrived", async () => {
      others("--description", "cairn.stack=fleet cairn.node=one");
      const wanted = ctImage(plan, image.identity);
      await expect(run(ensureImage(node(), wanted), "\n")).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
      host.pct("destroy", "700");
    });
  });

  describe("data", () => {
    const make = async (): Promise<void> => {
      for (const directory of node().directories) await run(ensureDirectory(host.dataDir, plan.stack, directory));
      writeFileSync(join(host.dataDir, "fleet", "one", "home", "key"), "precious");
    };

    it("are seen once they hold something, with the stack that made them", async () => {
      await make();
      const place = `${host.ssh.host}:${host.dataDir}/fleet/one/home`;
      expect(await createProxmoxDriver(plan).existingData(signal)).toEqual([
        { name: "fleet-one-home", place, stack: "fleet" },
      ]);
      await run(ensureDirectory(host.dataDir, plan.stack, node().directories[0] ?? fail()));
      expect(existsSync(join(host.dataDir, "fleet", "one", "home", "key"))).toBe(true);
    });

    it("are removed with nothing else, and the stack's directory with the last of them", async () => {
      await make();
      const workspace = join(host.dataDir, "fleet", "one", "workspace");
      writeFileSync(join(workspace, "notes"), "precious, too");
      mkdirSync(join(host.dataDir, "other"));
      const driver = createProxmoxDriver(plan);
      const found = await driver.existingData(signal);
      expect(found.map(({ name }) => name).sort()).toEqual(["fleet-one-home", "fleet-one-workspace"]);
      await driver.deleteData([found.find(({ name }) => name === "fleet-one-home") ?? fail()], signal);
      expect(readdirSync(join(host.dataDir, "fleet", "one"))).toEqual(["workspace"]);
      expect(existsSync(join(workspace, "notes"))).toBe(true);
      await driver.deleteData([found.find(({ name }) => name === "fleet-one-workspace") ?? fail()], signal);
      expect(readdirSync(host.dataDir).filter((name) => !name.startsWith("."))).toEqual(["other"]);
    });

    it("behind a symbolic link are neither used nor removed", async () => {
      const elsewhere = join(folder, "elsewhere");
      mkdirSync(join(elsewhere, "home"), { recursive: true });
      writeFileSync(join(elsewhere, "home", "key"), "somebody else's");
      mkdirSync(join(host.dataDir, "fleet"));
      symlinkSync(elsewhere, join(host.dataDir, "fleet", "one"));
      const driver = createProxmoxDriver(plan);
      const found = await driver.existingData(signal);
      await expect(driver.deleteData(found, signal)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
      await expect(make()).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
      expect(existsSync(join(elsewhere, "home", "key"))).toBe(true);
    });

    it("of another place or name are not removed", async () => {
      const driver = createProxmoxDriver(plan);
      const strange = { name: "fleet-one-home", place: `${host.ssh.host}:/etc`, stack: "fleet" };
      await expect(driver.deleteData([strange], signal)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
    });
  });
});

function fail(): never {
  throw new Error("the plan has a node, and the node has directories");
}
