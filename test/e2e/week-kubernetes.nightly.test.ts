/** The operator's week of docs/examples on Kubernetes. */

import { dirname } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { ensureNextPostgres, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { kubectlProgram } from "../support/kubernetes/binaries.ts";
import { type LiveCluster, loadImage, useLiveCluster } from "../support/kubernetes/live-cluster.ts";
import { typeWeek, WEEK } from "../support/week.ts";

describe.skipIf(lacks("live-cluster", "live-cluster-images", "pulumi-kubernetes"))("an operator's week", () => {
  let cluster: LiveCluster;
  let next: string;
  beforeAll(async () => {
    cluster = await useLiveCluster();
    next = await ensureNextPostgres();
    await loadImage(cluster, next);
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => cluster?.stop());

  it("on Kubernetes goes as it is printed in the documents", { timeout: 2 * IMAGES_TIMEOUT_MS }, async () => {
    const { kubeconfig, nodeImage, postgresImage, loader } = cluster;
    const program = kubectlProgram();
    onTestFinished(async () => {
      const namespace = ["delete", "namespace", WEEK, "--ignore-not-found", "--wait=false"];
      await execa(program, [`--kubeconfig=${kubeconfig}`, ...namespace]);
      await execa("docker", ["image", "rm", "--force", `${WEEK}-kubernetes:1`, `${WEEK}-kubernetes:2`], {
        reject: false,
      });
    });
    await typeWeek(
      "kubernetes.sh",
      {
        KUBECONFIG: kubeconfig,
        LOAD_IMAGE: loader.join(" "),
        BASE_IMAGE: nodeImage,
        POSTGRES_IMAGE: postgresImage,
        NEXT_POSTGRES_IMAGE: next,
      },
      [dirname(program)],
    );
  });
});
