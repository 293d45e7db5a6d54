/**
 * A cluster whose one machine runs pods: a control plane, containerd and a kubelet in namespaces of their own on this machine
 * (docs/decisions/043-a-cluster-of-the-tests-own.md). Images come from this machine's Docker. Its network has Services and names
 * and enforces no NetworkPolicy; its storage class gives folders of the machine.
 */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { stringify } from "yaml";
import { ensureTestImages } from "../docker/images.ts";
import { type MachineBinaries, machineBinaries } from "./binaries.ts";
import { startControlPlane } from "./cluster.ts";
import { bindClaims, storageClass } from "./folder-volumes.ts";
import { type Machine, startMachine } from "./machine.ts";
import { containerdConfig, kubeletConfig, NODE_NAME, podNetwork, proxyConfig, zone } from "./machine-config.ts";
import { clusterProcesses, type Processes } from "./processes.ts";

const START_MS = 90_000;
const PAUSE = "cairn-test/pause:1";

export interface OwnCluster {
  readonly kubeconfig: string;
  readonly nodeImage: string;
  readonly postgresImage: string;
  /** Program that brings an image of this machine's Docker, its one argument, to the cluster's machine. */
  readonly loader: string;
  stop(): Promise<void>;
}

/** Half a minute, and minutes more where the images were never made. */
export async function startOwnCluster(): Promise<OwnCluster> {
  const binaries = machineBinaries();
  const { node, postgres } = await ensureTestImages();
  const directory = await mkdtemp(join(tmpdir(), "cairn-pods-"));
  const ending = new AbortController();
  let machine: Machine | undefined;
  let processes: Processes | undefined;
  let claims = Promise.resolve();
  const stop = async () => {
    ending.abort();
    await claims;
    await machine?.stop();
    await processes?.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    machine = await startMachine(directory);
    processes = clusterProcesses(directory, machine.inside);
    const { kubeconfig, kubectl } = await startControlPlane(processes, { directory, address: machine.address });
    const loader = await startContainerd(processes, binaries, directory);
    await importPause(binaries);
    for (const image of [PAUSE, node, postgres]) await execa(loader, [image]);
    await startNode(processes, binaries, machine, { directory, kubeconfig });
    await kubectl(["create", "--filename=-"], stringify(storageClass()));
    claims = bindClaims(kubectl, join(directory, "volumes"), ending.signal);
    const ready = ["wait", "--for=condition=Ready", `node/${NODE_NAME}`, "--timeout=0"];
    await processes.until(
      () =>
        kubectl(ready).then(
          () => true,
          () => false,
        ),
      START_MS,
    );
    return { kubeconfig, nodeImage: node, postgresImage: postgres, loader, stop };
  } catch (error) {
    const words = processes?.lastWords() ?? "";
    await stop();
    throw new Error(`The cluster did not start: ${error instanceof Error ? error.message : error}\n${words}`);
  }
}

/** Gives the cluster's loader. */
async function startContainerd(
  processes: Processes,
  { networkPlugins }: MachineBinaries,
  directory: string,
): Promise<string> {
  const networks = join(directory, "networks");
  await mkdir(networks);
  await writeFile(join(networks, "pods.conflist"), JSON.stringify(podNetwork(directory)));
  const config = join(directory, "containerd.toml");
  await writeFile(config, containerdConfig({ directory, networks, networkPlugins, pause: PAUSE }));
  processes.run("containerd", "containerd", ["--config", config]);
  const ctr = [`--address=${join(directory, "containerd.sock")}`, "--namespace=k8s.io"];
  await processes.until(async () => !(await execa("ctr", [...ctr, "version"], { reject: false })).failed, START_MS);
  const loader = join(directory, "load");
  const script = `#!/bin/sh\ndocker save "$1" | ctr ${ctr.join(" ")} images import -\n`;
  await writeFile(loader, script, { mode: 0o755 });
  return loader;
}

/** Into this machine's Docker, once. */
async function importPause({ pause }: MachineBinaries): Promise<void> {
  if (!(await execa("docker", ["image", "inspect", PAUSE], { reject: false, stdout: "ignore" })).failed) return;
  await execa("tar", ["--create", `--directory=${join(pause, "..")}`, "pause"], { buffer: { stdout: false } }).pipe(
    "docker",
    ["import", "--change", 'ENTRYPOINT ["/pause"]', "-", PAUSE],
  );
}

async function startNode(
  processes: Processes,
  binaries: MachineBinaries,
  machine: Machine,
  { directory, kubeconfig }: { readonly directory: string; readonly kubeconfig: string },
): Promise<void> {
  const file = async (name: string, content: string) => {
    await writeFile(join(directory, name), content);
    return join(directory, name);
  };
  const resolver = await file("resolv.conf", "");
  const { address, cgroup } = machine;
  processes.run("kubelet", binaries.kubelet, [
    `--config=${await file("kubelet.yaml", stringify(kubeletConfig({ directory, address, cgroup, resolver })))}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${join(directory, "kubelet")}`,
    `--cert-dir=${join(directory, "kubelet-certificates")}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${address}`,
  ]);
  processes.run("scheduler", binaries.scheduler, [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
  ]);
  processes.run("proxy", binaries.proxy, [
    `--config=${await file("proxy.yaml", stringify(proxyConfig({ kubeconfig })))}`,
  ]);
  processes.run("dns", binaries.dns, ["-conf", await file("Corefile", zone({ kubeconfig, address }))]);
}
