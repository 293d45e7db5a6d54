/** Nodes that are renamed and taken out on Proxmox: real engine and command provider, sshd, LXC and Docker in it; `pct` is played. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeNode } from "../../../control/deploy/operations/nodes/remove-node.ts";
import { renameNode } from "../../../control/deploy/operations/nodes/rename-node.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { lacks } from "../../lanes/tools.ts";
import { type OperatedProxmox, operatedProxmox } from "../../support/proxmox/operated.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;

describe.skipIf(lacks("lxc", "pulumi-command"))("nodes of a stack on Proxmox", { concurrent: false }, () => {
  let stack: OperatedProxmox;
  const path = process.env["PATH"] ?? "";
  const data = (...names: string[]) => join(stack.host.dataDir, "fleet", ...names);
  const rename = (from: string, to: string) => renameNode(stack.run(), { from, to, yes: true });
  const remove = (node: string, kind: "keep" | "archive" | "delete") =>
    removeNode(stack.run(), { node, data: kind, confirm: kind === "keep" ? undefined : node, yes: true });
  const nodes = async () => (await status(stack.run())).nodes.map(({ name, health }) => `${name} ${health}`);

  beforeAll(async () => {
    stack = await operatedProxmox();
    stack.configure(["one", "two"]);
    process.env["PATH"] = `${stack.engine()}:${path}`;
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
    writeFileSync(data("two", "home", "note"), "kept\n");
  });
  afterAll(async () => {
    process.env["PATH"] = path;
    await stack?.stop();
  });

  it("get another name with a copy of their data, while the others run", async () => {
    expect(await rename("two", "zwei")).toMatchObject({
      outcome: "renamed",
      reason: null,
      kept: [{ name: "fleet-two-home" }],
    });
    expect(await nodes()).toEqual(["one healthy", "zwei healthy"]);
    expect(await stack.starts("one")).toEqual(["start 1"]);
    // As it was when it stopped, and what came after: the original was only read.
    expect(await stack.starts("zwei")).toEqual(["start 1", "graceful", "start 1"]);
    expect(await stack.starts("two")).toEqual(["start 1", "graceful"]);
    expect(readFileSync(data("zwei", "home", "note"), "utf8")).toBe("kept\n");
    expect(statSync(data("zwei", "home", "note")).uid).toBe(statSync(data("two", "home", "note")).uid);
    expect(await preview(stack.run())).toMatchObject({ changes: [], drift: [] });
  });

  it("do not get a name under which there are data of another one", async () => {
    await expect(rename("zwei", "two")).rejects.toMatchObject({
      code: "INFRA_DATA_EXISTS",
      message: expect.stringContaining("fleet-two-home"),
    });
    expect(await nodes()).toEqual(["one healthy", "zwei healthy"]);
  });

  it("serve again under their own name when their data do not fit, and are renamed once there is room", async () => {
    execFileSync("dd", ["if=/dev/zero", `of=${data("zwei", "home", "large")}`, "bs=1M", "count=8"], {
      stdio: "ignore",
    });
    mkdirSync(data("deux", "home"), { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", data("deux", "home")]);
    try {
      expect(await rename("zwei", "deux")).toMatchObject({
        outcome: "rolled_back",
        reason: `A disk of ${stack.host.ssh.host} is full.`,
        kept: [],
      });
    } finally {
      execFileSync("umount", [data("deux", "home")]);
    }
    expect(await nodes()).toEqual(["one healthy", "zwei healthy"]);
    expect(await rename("zwei", "deux")).toMatchObject({ outcome: "renamed" });
    expect(statSync(data("deux", "home", "large")).size).toBe(8 * 1024 ** 2);
  });

  it("go into an archive that only the operator can read, and then off the host, while the others run", async () => {
    const result = await remove("deux", "archive");
    expect(result?.deleted.map(({ name }) => name)).toEqual(["fleet-deux-home"]);
    const archive = result?.archive ?? "";
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const note = `${data("deux", "home", "note").replace(/^\//, "")}`;
    expect(execFileSync("tar", ["-xzOf", archive, note], { encoding: "utf8" })).toBe("kept\n");
    expect(existsSync(data("deux"))).toBe(false);
    expect(existsSync(data("two", "home", "note"))).toBe(true);
    expect(await nodes()).toEqual(["one healthy"]);
    expect(await stack.starts("one")).toEqual(["start 1"]);
    expect(() => stack.host.pct("config", "701")).toThrow();
    expect(await preview(stack.run())).toMatchObject({ changes: [], drift: [] });
  });

  it("come again with their number, and go with their data when that is asked for", async () => {
    rmSync(data("two"), { recursive: true });
    stack.configure(["one", "two"]);
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
    expect(await remove("two", "delete")).toMatchObject({ archive: null, deleted: [{ name: "fleet-two-home" }] });
    expect(existsSync(data("two"))).toBe(false);
  });
});
