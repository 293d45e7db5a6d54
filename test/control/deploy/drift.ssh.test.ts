/**
 * What was changed by hand on Proxmox, and what a failed change left there: seen by status and preview, healed by the same `up`. The
 * operations of `infra`, the real engine and command provider, sshd, LXC and Docker in it; `pct` is played.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { updateDeployed } from "../../../control/update/update-deployed.ts";
import type { ProxmoxPlan } from "../../../infra/plan/types.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { type ProxmoxTestHost, startProxmox } from "../../support/proxmox/host.ts";
import { CRASHING_ENTRY, makeImage, type TestImage } from "../../support/proxmox/image.ts";
import { SECRETS } from "../../support/proxmox/stack.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;

describe.skipIf(lacks("lxc", "pulumi-command"))("a stack on Proxmox, changed by hand", () => {
  let host: ProxmoxTestHost;
  let dir: string;
  let good: TestImage;
  let crashing: TestImage;
  let plan: ProxmoxPlan;
  const path = process.env.PATH ?? "";

  /** As the commands call the operations, but for the plan, which no cairn.yaml is read for. */
  const run = (): OperationInput => {
    const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
    const real = defaultServices({ deployment, root: ROOT, prompts: null });
    return {
      dir,
      services: {
        ...real,
        // The image that plays the node has no API: its health is what is tested.
        nodes: {
          call: () => Promise.reject(new Error("no node is called here")),
          gate: async () => expect(await status(run())).toMatchObject({ healthy: true }),
          pause: async () => undefined,
          resume: async () => undefined,
        },
        async readProject() {
          const { nodes } = await real.release.read(dir);
          const imaged = plan.nodes.map((node) => ({ ...node, image: nodes[node.name] ?? good.identity }));
          const read = { dir, secrets: SECRETS, certificate: null, warnings: [], redactValues: [] };
          return { ...read, plan: { ...plan, nodes: imaged } };
        },
        images: {
          provide: async () => expect.unreachable("every node has an image"),
          resolve: async (name) =>
            [good, crashing].map(({ identity }) => identity).find(({ id }) => id === name) ?? good.identity,
          architectures: async () => null,
        },
      },
      onEvent: () => undefined,
      signal: new AbortController().signal,
      killSignal: new AbortController().signal,
    };
  };
  const inside = (...command: string[]) => host.pct("exec", "700", "--", ...command);
  /** A container of somebody else's under the node's name. */
  const stranger = () => inside("docker", "run", "--detach", "--name", "fleet-one", good.identity.id ?? "");
  const starts = () =>
    readFileSync(join(host.dataDir, "fleet", "one", "home", "starts"), "utf8")
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("start")).length;
  const found = (drift: readonly { kind: string; name: string }[]) => drift.map(({ kind, name }) => `${kind} ${name}`);

  beforeAll(async () => {
    host = await startProxmox();
    dir = mkdtempSync(join(tmpdir(), "cairn-drift-"));
    const busybox = join(host.template, "bin", "busybox");
    good = makeImage(dir, busybox, "1");
    crashing = makeImage(dir, busybox, "2", CRASHING_ENTRY);
    plan = host.plan();
    process.env.PATH = `${host.engineWith(good, crashing)}:${path}`;
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
  });
  afterAll(async () => {
    process.env.PATH = path;
    await host?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("is shown with all its parts, and nothing is found", async () => {
    expect(await status(run())).toMatchObject({
      healthy: true,
      nodes: [
        { state: "running", health: "healthy", restarts: 0, since: expect.stringMatching(/^\d{4}-/), reason: null },
      ],
      parts: [
        { kind: "volume", name: "fleet-one-home", state: "present" },
        { kind: "volume", name: "fleet-one-workspace", state: "present" },
      ],
    });
    expect(await up(run(), UP)).toMatchObject({ changes: [], drift: [] });
    expect(starts()).toBe(1);
  });

  it.each<[string, () => unknown, string[]]>([
    ["a container removed in its CT", () => inside("docker", "rm", "--force", "fleet-one"), ["missing fleet-one"]],
    ["a container stopped", () => inside("docker", "stop", "--time", "1", "fleet-one"), ["stopped fleet-one"]],
    [
      "a container replaced by another one",
      () => [inside("docker", "rm", "--force", "fleet-one"), stranger()],
      ["replaced fleet-one"],
    ],
    [
      "a setting changed, and a container replaced",
      () => [host.pct("set", "700", "--memory", "4096"), inside("docker", "rm", "--force", "fleet-one"), stranger()],
      ["changed 700", "replaced fleet-one"],
    ],
    ["a container paused", () => inside("docker", "pause", "fleet-one"), ["paused fleet-one"]],
    ["a container renamed", () => inside("docker", "rename", "fleet-one", "other"), ["renamed fleet-one"]],
    [
      "a file removed and a setting changed",
      () => [inside("rm", "/etc/cairn/cairn.yaml"), host.pct("set", "700", "--memory", "4096")],
      ["changed 700", "changed fleet-one"],
    ],
    ["a CT stopped", () => host.pct("stop", "700"), ["stopped 700"]],
    ["a CT removed", () => [host.pct("stop", "700"), host.pct("destroy", "700", "--force", "1")], ["missing 700"]],
  ])("%s comes back with the same up, its data with it", async (_words, change, expected) => {
    const before = starts();
    change();
    expect(await status(run())).toMatchObject({ healthy: false, nodes: [{ reason: expect.any(String) }] });
    expect(found((await preview(run())).drift)).toEqual(expected);
    expect(starts()).toBe(before);
    const result = await up(run(), UP);
    expect(result).toMatchObject({ healthy: true });
    expect(found(result?.drift ?? [])).toEqual(expected);
    expect(await status(run())).toMatchObject({ healthy: true });
    expect(starts()).toBeGreaterThanOrEqual(before);
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
  });

  it("says of a directory that is gone that its data are, and goes on with an empty one", async () => {
    host.pct("stop", "700");
    rmSync(join(host.dataDir, "fleet", "one", "home"), { recursive: true, maxRetries: 10 });
    const { drift } = await preview(run());
    expect(drift).toMatchObject([{ name: "fleet-one-home", data_lost: true }, { name: "700" }]);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(starts()).toBe(1);
  });

  it("goes back to the former image when an update's image cannot start", async () => {
    const prebuilt = crashing.identity.id ?? "";
    const result = await updateDeployed({ run: run(), prebuilt, report: () => undefined });
    expect(result).toMatchObject({ outcome: "rolled_back" });
    expect(result.reason).toContain("ends again and again");
    expect(await status(run())).toMatchObject({ healthy: true, nodes: [{ image: good.identity.id }] });
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
  });

  it("goes back by itself when it cannot start with a setting, and the setting that is taken back is no change", async () => {
    const former = plan;
    // Docker refuses so little.
    const limits = { memoryBytes: 1024 ** 2, cpus: null };
    plan = { ...former, nodes: former.nodes.map((node) => ({ ...node, limits })) };
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/what one had before serves again\.$/),
    });
    plan = former;
    expect(await status(run())).toMatchObject({ healthy: true });
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
  });
});
