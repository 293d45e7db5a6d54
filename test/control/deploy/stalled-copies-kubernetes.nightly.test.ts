/**
 * An API server that falls silent while a node's data go through it into an archive: said in bounded time, and the same command finishes,
 * with more data than a program's output is usually kept of. Real cluster, kubelet, engine and provider.
 */

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { removeNode } from "../../../control/deploy/operations/nodes/remove-node.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { type StalledPort, startStalledPort } from "../../support/faults/stalled-port.ts";
import { type LiveCluster, useLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { type OperatedCluster, prepareOperatedCluster } from "../../support/kubernetes/operated-stack.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const REMOVE = { node: "two", data: "archive", confirm: "two", yes: true } as const;

describe.skipIf(lacks("live-cluster", "pulumi-kubernetes"))(
  "a cluster that falls silent while a node is archived",
  () => {
    let cluster: LiveCluster;
    let proxy: StalledPort;
    let stack: OperatedCluster;
    const backups = () => join(stack.dir, "backups");
    const files = () => {
      try {
        return readdirSync(backups()).filter((name) => name.includes(".tar.gz"));
      } catch {
        return [];
      }
    };

    beforeAll(async () => {
      cluster = await useLiveCluster();
      const direct = parse(readFileSync(cluster.kubeconfig, "utf8"));
      const kubeconfig = `${cluster.kubeconfig}-proxied`;
      const [first] = direct.clusters;
      const { hostname, port } = new URL(first.cluster.server);
      proxy = await startStalledPort({ host: hostname, port: Number(port) });
      first.cluster = { ...first.cluster, server: `https://127.0.0.1:${proxy.port}`, "tls-server-name": hostname };
      writeFileSync(kubeconfig, stringify(direct), { mode: 0o600 });
      stack = await prepareOperatedCluster({ ...cluster, kubeconfig }, ["one", "two"]);
      expect(await up(stack.run(), UP)).toMatchObject({ healthy: true });
      // So much that the archive takes a while: it is not made smaller.
      await stack.kubectl(
        "exec",
        "cairn-two-0",
        "--",
        "dd",
        "if=/dev/urandom",
        "of=/srv/cairn/large",
        "bs=1M",
        "count=300",
      );
    }, IMAGES_TIMEOUT_MS);
    afterAll(async () => {
      proxy?.speak();
      await stack?.remove();
      proxy?.stop();
      await cluster?.stop();
    });

    it("is named, nothing is deleted, and the same command finishes", { timeout: IMAGES_TIMEOUT_MS }, async () => {
      const removing = removeNode(stack.run(), REMOVE).catch((error: unknown) => error);
      await expect
        .poll(() => files().some((name) => name.endsWith(".part") && statSync(join(backups(), name)).size > 0), {
          timeout: IMAGES_TIMEOUT_MS / 2,
          interval: 50,
        })
        .toBe(true);
      proxy.silence();
      const error = await removing;
      proxy.speak();
      expect(error).toMatchObject({ code: "INFRA_HOST_UNREACHABLE", message: expect.stringMatching(/cluster/) });
      expect(files()).toEqual([]);
      const done = await removeNode(stack.run(), REMOVE);
      expect(done).toMatchObject({ node: "two", archive: expect.any(String) });
      expect(statSync(done?.archive ?? "").size).toBeGreaterThan(300 * 1024 ** 2);
      expect(files()).toHaveLength(1);
      const pods = await stack.kubectl("get", "pods", "--output=name");
      expect(pods.split("\n").sort()).toEqual(["pod/cairn-one-0", "pod/cairn-postgres-0"]);
    });
  },
);
