/**
 * A stack on a live cluster (test/support/kubernetes/live-cluster.ts), with a real node and by the commands that an operator
 * types: from nothing to an agent that remembers, and through what goes wrong on the way.
 */

import { copyFile, readFile, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { uniqueName } from "../support/docker/containers.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { kubectlProgram } from "../support/kubernetes/binaries.ts";
import { type LiveCluster, loadImage, useLiveCluster } from "../support/kubernetes/live-cluster.ts";
import { type Operator, operator } from "../support/operator.ts";

const TOKEN = "cairn_test-token-of-a-deployed-stack";
const CLAIMS = ["data-lab-postgres-0", "home-lab-a-0", "workspace-lab-a-0"];

interface Diff {
  readonly summary: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly op: string; readonly name: string; readonly type: string }[];
}

const program = kubectlProgram();
let cluster: LiveCluster;

describe.skipIf(lacks("live-cluster", "live-cluster-images", "pulumi-kubernetes"))("a stack on kubernetes", () => {
  beforeAll(async () => {
    cluster = await useLiveCluster();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => cluster?.stop());

  it("is built, deployed, changed, removed and deployed again, and its agent still knows", async () => {
    const { stack, kubectl, write } = await newStack();
    await write({ max_tool_iterations: 50 });
    const up = await stack.cairn<Diff & { healthy: boolean }>("infra", "up", "--yes");
    expect(up).toMatchObject({ healthy: true, summary: { create: 18, same: 0 } });
    await stack.say("My cat is called Mitzi.");
    expect(await stack.say("What is my cat called?")).toContain("Mitzi");

    expect((await stack.cairn<Diff>("infra", "preview")).changes).toEqual([]);
    const node = await uidOf(kubectl, "lab-a-0");
    expect((await stack.cairn<Diff>("infra", "up", "--yes")).changes).toEqual([]);
    expect(await uidOf(kubectl, "lab-a-0")).toBe(node);

    await write({ max_tool_iterations: 40 });
    const preview = await stack.cairn<Diff>("infra", "preview");
    expect(preview.changes.map(({ op, name }) => [op, name]).sort()).toEqual([
      ["update", "lab-a"],
      ["update", "lab-a-files-0"],
    ]);
    const database = await uidOf(kubectl, "lab-postgres-0");
    await stack.cairn("infra", "up", "--yes");
    expect(await uidOf(kubectl, "lab-postgres-0")).toBe(database);
    expect(await uidOf(kubectl, "lab-a-0")).not.toBe(node);
    expect(await kubectl("exec", "lab-a-0", "--", "cat", "/etc/cairn/cairn.yaml")).toContain("max_tool_iterations: 40");

    const backup = join(stack.dir, "a.backup");
    await stack.cairn("memory", "backup", backup);
    expect((await readFile(backup)).length).toBeGreaterThan(100);

    const password = /:([^:@]{20,})@/.exec(
      await kubectl("exec", "lab-a-0", "--", "grep", "^SERVICE_PG_URL", "/etc/cairn/.env"),
    )?.[1];
    const seen = [await kubectl("get", "pods,statefulsets,configmaps,services", "--output=yaml"), stack.printed()];
    for (const text of [...seen, await stack.kept()]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(password ?? TOKEN);
    }
    expect(password).toBeDefined();

    const { kept } = await stack.cairn<{ kept: readonly { name: string }[] }>("infra", "destroy", "--yes");
    expect(kept.map(({ name }) => name)).toEqual(CLAIMS);
    expect(await kubectl("get", "statefulsets,pods,secrets,services", "--output=name")).toBe("");
    expect(await claims(kubectl)).toEqual(CLAIMS);
    await stack.cairn("infra", "up", "--yes");
    expect(await stack.say("What is my cat called?")).toContain("Mitzi");

    const gone = await stack.cairn<{ backup: string }>(
      "infra",
      "destroy",
      "--delete-data",
      "--confirm",
      "lab",
      "--yes",
    );
    expect((await readFile(gone.backup)).length).toBeGreaterThan(100);
    expect(await claims(kubectl)).toEqual([]);
  });

  it("survives a wrong context, kills, a second operator, a bad image, and edits by hand", async () => {
    const { stack, kubectl, write, image, namespace } = await newStack();
    await write({}, { context: "no-such-context" });
    expect(await stack.refused("infra", "up", "--yes")).toMatchObject({ code: "INFRA_CONTEXT_UNKNOWN" });
    expect(await kubectl("get", "namespace", namespace, "--ignore-not-found", "--output=name")).toBe("");

    // An image that nobody has: nothing runs yet, so that the right one takes its place.
    await write({});
    const bad = await stack.refused("infra", "up", "--yes", "--image", "cairn-test/no-such-image:1");
    expect(bad).toMatchObject({ code: "INFRA_FAILED", message: expect.stringContaining("image cannot be pulled") });
    await stack.cairn("infra", "up", "--yes", "--image", image);
    await stack.say("My cat is called Mitzi.");

    await write({ max_tool_iterations: 33 });
    const first = stack.cairn<Diff>("infra", "up", "--yes");
    await expect
      .poll(async () => (await stack.document<{ holder: unknown }>("infra", "status")).holder)
      .toMatchObject({ command: "up" });
    expect(await stack.refused("infra", "up", "--yes")).toMatchObject({ code: "INFRA_LOCKED" });
    expect((await first).summary).toMatchObject({ update: 2 });

    await kubectl("delete", "networkpolicy", "lab-nodes");
    const back = [{ op: "create", name: "lab-nodes" }];
    expect((await stack.cairn<Diff>("infra", "preview")).changes).toMatchObject(back);
    expect((await stack.cairn<Diff>("infra", "up", "--yes")).changes).toMatchObject(back);

    // The way to the cluster is what `destroy` needs most, and it stands in the state.
    const moved = join(stack.dir, "kubeconfig");
    await copyFile(cluster.kubeconfig, moved);
    await write({ max_tool_iterations: 33 }, { kubeconfig: moved });
    const provider = { type: "pulumi:providers:kubernetes" };
    expect((await stack.cairn<Diff>("infra", "up", "--yes")).changes).toMatchObject([provider]);
    await write({ max_tool_iterations: 33 });
    expect((await stack.cairn<Diff>("infra", "up", "--yes")).changes).toMatchObject([provider]);
    await rm(moved);

    await stack.killedAt("removed ", "infra", "destroy", "--yes");
    await stack.cairn("infra", "destroy", "--yes");
    expect(await claims(kubectl)).toEqual(CLAIMS);

    await stack.killedAt("created ", "infra", "up", "--yes");
    await stack.cairn("infra", "up", "--yes");
    expect((await stack.cairn<Diff>("infra", "preview")).changes).toEqual([]);
    expect(await stack.say("What is my cat called?")).toContain("Mitzi");
  });
});

type Kubectl = (...args: string[]) => Promise<string>;

interface NewStack {
  readonly stack: Operator;
  readonly kubectl: Kubectl;
  readonly namespace: string;
  /** Built, and on the cluster's machines. */
  readonly image: string;
  /** cairn.yaml with these settings of `runtime` and of `deployment.kubernetes`. */
  write(runtime: object, kubernetes?: object): Promise<void>;
}

/** A deployment directory with an image for its node, in a namespace that ends with the test. */
async function newStack(): Promise<NewStack> {
  const { kubeconfig, context, nodeImage, postgresImage } = cluster;
  const namespace = uniqueName("e2e");
  const image = `${namespace}:1`;
  const kubectl: Kubectl = async (...args) => {
    const where = [`--kubeconfig=${kubeconfig}`, `--context=${context}`, `--namespace=${namespace}`];
    return (await execa(program, [...where, ...args])).stdout;
  };
  onTestFinished(async () => {
    await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    await execa("docker", ["image", "rm", "--force", image], { reject: false });
  });
  // The cluster's own kubectl, not whichever the machine has.
  const stack = await operator(TOKEN, { PATH: `${dirname(program)}${delimiter}${process.env.PATH ?? ""}` });
  const write = (runtime: object, kubernetes: object = {}): Promise<void> =>
    stack.configure({
      version: 1,
      runtime,
      agents: { main: {} },
      providers: { offline: {} },
      memory: { postgres: {} },
      deployment: {
        name: "lab",
        target: "kubernetes",
        nodes: [{ name: "a" }],
        datahub: { postgres: true, image: postgresImage },
        kubernetes: {
          kubeconfig,
          context,
          namespace,
          storage_size: "64Mi",
          database_size: "256Mi",
          requests: { memory: "128Mi", cpus: 0.05 },
          ...kubernetes,
        },
      },
    });
  await write({});
  await stack.cairn("build", "--base-image", nodeImage, "--tag", image);
  await loadImage(cluster, image);
  return { stack, kubectl, namespace, image, write };
}

async function uidOf(kubectl: Kubectl, pod: string): Promise<string> {
  return kubectl("get", "pod", pod, "--output=jsonpath={.metadata.uid}");
}

async function claims(kubectl: Kubectl): Promise<string[]> {
  const names = await kubectl("get", "persistentvolumeclaims", "--output=jsonpath={.items[*].metadata.name}");
  return names
    .split(" ")
    .filter((name) => name !== "")
    .sort();
}
