/**
 * Nodes of a stack on a live cluster that are renamed and removed with their data copied, archived or deleted, while another runs: the
 * operations of `infra`, the real engine, provider and claims; the nodes are played.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeNode } from "../../../control/deploy/operations/nodes/remove-node.ts";
import { renameNode } from "../../../control/deploy/operations/nodes/rename-node.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type LiveCluster, useLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { type OperatedCluster, prepareOperatedCluster, WANTED } from "../../support/kubernetes/operated-stack.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const HIDDEN = "/srv/cairn/a dir/.hidden";

describe.skipIf(lacks("live-cluster", "pulumi-kubernetes"))("nodes of a stack on Kubernetes", () => {
  let cluster: LiveCluster;
  let stack: OperatedCluster;
  let one: string;

  const uidOf = (pod: string) => stack.kubectl("get", "pod", pod, "--output=jsonpath={.metadata.uid}");
  const claims = async () => {
    const names = await stack.kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].metadata.name}");
    return names.split(" ").filter((name) => /^(home|workspace)/.test(name));
  };
  const pods = async () => (await stack.kubectl("get", "pods", "--output=name")).split("\n").sort();
  const inNode = (node: string, script: string) => stack.kubectl("exec", `cairn-${node}-0`, "--", "sh", "-c", script);
  const of = (...nodes: string[]) =>
    ["home", "workspace"].flatMap((what) => nodes.map((node) => `${what}-cairn-${node}-0`));
  const archives = () => readdirSync(join(stack.dir, "backups")).filter((name) => name !== ".gitignore");

  beforeAll(async () => {
    cluster = await useLiveCluster();
    stack = await prepareOperatedCluster(cluster, ["one", "two"]);
    expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
    await inNode(
      "two",
      `mkdir -p "$(dirname "${HIDDEN}")" && echo kept > "${HIDDEN}" && chmod 600 "${HIDDEN}" && ln -s x /srv/cairn/link`,
    );
    one = await uidOf("cairn-one-0");
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    await stack?.remove();
    await cluster?.stop();
  });

  it("has its former name back where the copy fails, and nothing is left of the copies", async () => {
    stack.failing = "copyData";
    expect(await renameNode(stack.run(), { from: "two", to: "three", yes: true })).toMatchObject({
      outcome: "rolled_back",
      reason: WANTED,
    });
    stack.failing = undefined;
    expect(await claims()).toEqual(of("one", "two"));
    expect(await pods()).toEqual(["pod/cairn-one-0", "pod/cairn-postgres-0", "pod/cairn-two-0"]);
    expect(await inNode("two", `cat "${HIDDEN}"`)).toBe("kept");
  });

  it("is renamed with all its files, and the others run on", async () => {
    expect(await renameNode(stack.run(), { from: "two", to: "three", yes: true })).toMatchObject({
      outcome: "renamed",
      kept: of("two").map((name) => ({ name })),
    });
    expect(await inNode("three", `cat "${HIDDEN}"; stat -c %a "${HIDDEN}"; readlink /srv/cairn/link`)).toBe(
      "kept\n600\nx",
    );
    // It started under each of its names on one home.
    expect(await inNode("three", "cat /var/lib/cairn/starts")).toMatch(/cairn-two-0[\s\S]*cairn-three-0$/);
    expect(await claims()).toEqual(of("one", "three", "two"));
    expect(await uidOf("cairn-one-0")).toBe(one);
    expect((await preview(stack.run())).changes).toEqual([]);
    await expect(renameNode(stack.run(), { from: "three", to: "two", yes: true })).rejects.toMatchObject({
      code: "INFRA_DATA_EXISTS",
    });
  });

  it("is removed with its data in an archive, of which a copy that is cut off deletes nothing", async () => {
    const remove = () => removeNode(stack.run(), { node: "three", data: "archive", confirm: "three", yes: true });
    stack.failing = "archiveData";
    await expect(remove()).rejects.toThrow(WANTED);
    stack.failing = undefined;
    expect(await claims()).toEqual(of("one", "three", "two"));
    const done = await remove();
    expect(done).toMatchObject({ deleted: of("three").map((name) => ({ name })), kept: [] });
    expect(statSync(done?.archive ?? "").mode & 0o777).toBe(0o600);
    const listed = await execa("tar", ["-tzf", done?.archive ?? ""]);
    expect(listed.stdout).toContain("./workspace-cairn-three-0/a dir/.hidden");
    expect(listed.stdout).toContain("./home-cairn-three-0/starts");
    expect(archives().every((name) => /^cairn-three-.*\.tar\.gz$/.test(name))).toBe(true);
    expect(await claims()).toEqual(of("one", "two"));
    expect(await pods()).toEqual(["pod/cairn-one-0", "pod/cairn-postgres-0"]);
    expect(await uidOf("cairn-one-0")).toBe(one);
    expect((await preview(stack.run())).changes).toEqual([]);
  });
});
