/** `update --mesh` of pods on a live cluster, by the commands that an operator types: under load, with an image that fails, and killed. */

import { delimiter, dirname } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { UpdateHistory, UpdatePlan, UpdateResult } from "../../control/update/result.ts";
import { lacks } from "../lanes/tools.ts";
import { uniqueName } from "../support/docker/containers.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type Load, type LoadReport, startLoad, summaryOf } from "../support/fleet-load.ts";
import { kubectlProgram } from "../support/kubernetes/binaries.ts";
import { type LiveCluster, loadImage, useLiveCluster } from "../support/kubernetes/live-cluster.ts";
import { type Operator, operator } from "../support/operator.ts";

const TOKEN = "cairn_test-token-of-a-deployed-fleet";
const NAME = "lab";
const LONG_MS = 2 * IMAGES_TIMEOUT_MS;
/** The order in which a StatefulSet changes its pods. */
const PODS = ["lab-main-2", "lab-main-1", "lab-main-0"];
const FAILS = 'ENTRYPOINT ["node", "-e", "console.error(\\"out of order\\"); process.exit(3)"]';

interface Preview {
  readonly changes: readonly unknown[];
}

const program = kubectlProgram();
let cluster: LiveCluster;

describe.skipIf(lacks("live-cluster", "live-cluster-images", "pulumi-kubernetes"))(
  "update --mesh on kubernetes",
  () => {
    beforeAll(async () => {
      cluster = await useLiveCluster();
    }, IMAGES_TIMEOUT_MS);
    afterAll(() => cluster?.stop());

    it("changes one pod of a group after the other under load, and takes back what fails", {
      timeout: LONG_MS,
    }, async () => {
      const stack = await newStack({}, { replicas: 3 });
      const first = await stack.marks(PODS);
      const second = await stack.imageOf("2");
      const plan = await stack.cairn<UpdatePlan>("update", "--mesh", "--dry-run", "--prebuilt", second);
      expect(plan).toMatchObject({ problems: [] });
      expect(plan.nodes.map(({ name, ready }) => [name, ready])).toEqual(PODS.map((name) => [name, true]));

      const load = await stack.load();
      const watch = stack.watchReady(PODS.length);
      expect(await stack.cairn<UpdateResult>("update", "--mesh", "--prebuilt", second)).toMatchObject({
        outcome: "updated",
      });
      const fewest = await watch();
      const report = await load.stop();
      console.log(`update --mesh of three pods: ${summaryOf({ ...report, fewest })}`);
      await stack.expectAnswered(report);
      expect(fewest).toBe(2);
      const given = await stack.marks(PODS);
      expect(new Set(given).size).toBe(1);
      expect(given[0]).not.toBe(first[0]);
      const history = async () => (await stack.cairn<UpdateHistory>("update", "--mesh", "--history")).rollouts;
      expect(await history()).toMatchObject([{ outcome: "passed", done: PODS }]);
      await stack.expectReconciled(3);

      const failing = await stack.imageOf("3", FAILS);
      expect(await stack.document<UpdateResult>("update", "--mesh", "--prebuilt", failing)).toMatchObject({
        outcome: "rolled_back",
        last_words: expect.arrayContaining([expect.stringContaining("out of order")]),
      });
      expect(await stack.marks(PODS)).toEqual(given);
      const [failed] = await history();
      expect(failed).toMatchObject({ outcome: "rolled_back", failed: "lab-main-2", done: [] });
      const ends = failed?.steps.filter(({ state }) => state !== "begun");
      expect(ends?.map(({ name, state }) => `${name} ${state}`)).toEqual([
        "apply lab-main-2 failed",
        "back lab-main-2 done",
        "gate-former lab-main-2 done",
      ]);
      await stack.expectReconciled(3);
    });

    it("goes on under load where the command was killed between two pods", { timeout: LONG_MS }, async () => {
      const stack = await newStack({}, { replicas: 3 });
      const first = await stack.marks(PODS);
      const second = await stack.imageOf("2");
      const load = await stack.load();
      await stack.killedAt("Testing lab-main-1", "update", "--mesh", "--prebuilt", second);
      expect(await stack.resumed()).toMatchObject({ outcome: "updated" });
      const report = await load.stop();
      console.log(`update --mesh of three pods, killed and resumed: ${summaryOf(report)}`);
      await stack.expectAnswered(report);
      const { rollouts } = await stack.cairn<UpdateHistory>("update", "--mesh", "--history");
      expect(rollouts).toMatchObject([{ outcome: "passed", done: PODS }]);
      const given = await stack.marks(PODS);
      expect(new Set(given).size).toBe(1);
      expect(given[0]).not.toBe(first[0]);
      await stack.expectReconciled(3);
    });
  },
);

interface FleetStack extends Operator {
  kubectl(...args: string[]): Promise<string>;
  /** Another image of the same program, on the cluster's machines. `steps`: lines of a Dockerfile on top of it. */
  imageOf(tag: string, steps?: string): Promise<string>;
  /** Which image each pod was made for. */
  marks(pods: readonly string[]): Promise<string[]>;
  /** Through the Service, which leads to whichever pod is ready. */
  load(): Promise<Load>;
  /** Resolves, when it is called, with the fewest pods that were ready at once. */
  watchReady(most: number): () => Promise<number>;
  /** Every message was accepted once, and answered once. */
  expectAnswered(report: LoadReport): Promise<void>;
  /** Nothing is left to apply, and the partition is where `up` keeps it. */
  expectReconciled(replicas: number): Promise<void>;
  /** `--resume`, once the lease of the command that was killed has expired. */
  resumed(): Promise<UpdateResult>;
}

/** Deployed, in a namespace that ends with the test. */
async function newStack(deployment: object, kubernetes: object): Promise<FleetStack> {
  const { kubeconfig, context, nodeImage, postgresImage } = cluster;
  const namespace = uniqueName("e2e");
  const images = new Set<string>();
  const kubectl = async (...args: string[]) => {
    const where = [`--kubeconfig=${kubeconfig}`, `--context=${context}`, `--namespace=${namespace}`];
    return (await execa(program, [...where, ...args])).stdout;
  };
  onTestFinished(async () => {
    await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    await execa("docker", ["image", "rm", "--force", ...images], { reject: false });
  });
  // The cluster's own kubectl, not whichever the machine has.
  const typed = await operator(TOKEN, { PATH: `${dirname(program)}${delimiter}${process.env.PATH ?? ""}` });
  await typed.configure({
    version: 1,
    agents: { main: {} },
    providers: { offline: {} },
    memory: { postgres: {} },
    deployment: {
      name: NAME,
      target: "kubernetes",
      datahub: { postgres: true, image: postgresImage },
      kubernetes: {
        kubeconfig,
        context,
        namespace,
        storage_size: "64Mi",
        database_size: "256Mi",
        requests: { memory: "128Mi", cpus: 0.05 },
        service_type: "NodePort",
        ...kubernetes,
      },
      ...deployment,
    },
  });
  const image = `${namespace}:1`;
  images.add(image);
  await typed.cairn("build", "--base-image", nodeImage, "--tag", image);
  await loadImage(cluster, image);
  await typed.cairn("infra", "up", "--yes");
  expect((await typed.cairn<Preview>("infra", "preview")).changes).toEqual([]);

  const sql = (text: string) =>
    kubectl("exec", `${NAME}-postgres-0`, "--", ..."psql -XqAt -U postgres -d cairn -c".split(" "), text);
  const readyPods = async (): Promise<number> => {
    const conditions = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
    const found = await kubectl(
      "get",
      "pods",
      "--selector=cairn.dev/node!=postgres",
      `--output=jsonpath=${conditions}`,
    );
    return found.split("\n").filter((word) => word === "True").length;
  };
  return {
    ...typed,
    kubectl,
    async imageOf(tag, steps = `LABEL test.image=${tag}`) {
      const name = `${namespace}:${tag}`;
      images.add(name);
      await execa("docker", ["build", "--quiet", "--tag", name, "-"], { input: `FROM ${image}\n${steps}\n` });
      await loadImage(cluster, name);
      return name;
    },
    marks: (pods) =>
      Promise.all(
        pods.map((pod) => kubectl("get", "pod", pod, "--output=jsonpath={.metadata.annotations.cairn\\.dev/image}")),
      ),
    async load() {
      const port = await kubectl("get", "service", `${NAME}-main`, "--output=jsonpath={.spec.ports[0].nodePort}");
      const addresses = '{.items[0].status.addresses[?(@.type=="InternalIP")].address}';
      const address = await kubectl("get", "nodes", `--output=jsonpath=${addresses}`);
      const url = `http://${address}:${port}`;
      return startLoad(Object.fromEntries(PODS.map((pod) => [pod, url])), TOKEN);
    },
    watchReady(most) {
      let fewest = most;
      const ending = new AbortController();
      onTestFinished(() => ending.abort());
      const watching = (async () => {
        while (!ending.signal.aborted) {
          // A question that the cluster does not answer says nothing of the pods.
          fewest = Math.min(fewest, await readyPods().catch(() => most));
          await sleep(500);
        }
      })();
      return async () => {
        ending.abort();
        await watching;
        return fewest;
      };
    },
    async expectAnswered({ sent, answered }) {
      expect(answered).toBe(sent);
      const counts = await sql(
        `select (select count(*) from inbox), (select count(*) from turns where state = 'done'),
           (select count(*) from outbox), (select count(*) from messages where role = 'user' and content like 'Remember the word%'),
           (select count(distinct content) from messages where role = 'user' and content like 'Remember the word%')`,
      );
      const [inbox, done, replies, asked, different] = counts.split("|").map(Number);
      expect({ done, replies }).toEqual({ done: inbox, replies: inbox });
      expect({ asked, different }).toEqual({ asked: sent, different: sent });
    },
    async expectReconciled(replicas) {
      expect((await typed.cairn<Preview>("infra", "preview")).changes).toEqual([]);
      const partition = "--output=jsonpath={.spec.updateStrategy.rollingUpdate.partition}";
      expect(await kubectl("get", "statefulset", `${NAME}-main`, partition)).toBe(String(replicas));
    },
    async resumed() {
      for (;;) {
        const document = await typed.document<UpdateResult | { readonly error: { readonly code: string } }>(
          "update",
          "--mesh",
          "--resume",
        );
        if (!("error" in document)) return document;
        // The lease expires by itself.
        expect(document.error).toMatchObject({ code: "INFRA_LOCKED" });
        await sleep(5_000);
      }
    },
  };
}
