/**
 * A real Kubernetes control plane for one test file: etcd, API server and controllers, with certificates and tokens of their
 * own. No machine runs pods in it; `PlayedKubelet` says what one would say.
 */

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { stringify } from "yaml";
import { freePort } from "../ports.ts";
import { kubernetesBinaries } from "./binaries.ts";
import { clusterProcesses, type Processes } from "./processes.ts";

const START_MS = 90_000;
const LOOPBACK = "127.0.0.1";

export interface Cluster {
  /** Has the contexts `fleet` (an administrator) and `guest` (nobody in particular). */
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Runs kubectl as the administrator and gives its standard output; throws with its words when it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts one on loopback ports. */
export async function startCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-kube-"));
  const processes = clusterProcesses(directory);
  const stop = async () => {
    await processes.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    return { ...(await startControlPlane(processes, { directory, address: LOOPBACK })), stop };
  } catch (error) {
    const words = processes.lastWords();
    await stop();
    throw new Error(`The cluster did not start: ${error instanceof Error ? error.message : error}\n${words}`);
  }
}

/** `address`: where the API server listens; pods can be told of any but a loopback one. */
export async function startControlPlane(
  processes: Processes,
  { directory, address }: { readonly directory: string; readonly address: string },
): Promise<Omit<Cluster, "stop">> {
  const binaries = kubernetesBinaries();
  const [clientPort, peerPort, apiPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const etcd = `http://${LOOPBACK}:${clientPort}`;
  const peer = `http://${LOOPBACK}:${peerPort}`;
  processes.run("etcd", binaries.etcd, [
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // Nothing here outlives the test.
    "--unsafe-no-fsync",
  ]);

  const tokens = { fleet: randomBytes(16).toString("hex"), guest: randomBytes(16).toString("hex") };
  const file = (name: string) => join(directory, name);
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(file("sa.key"), keys.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  await writeFile(file("sa.pub"), keys.publicKey.export({ type: "spki", format: "pem" }));
  await writeFile(file("tokens.csv"), `${tokens.fleet},admin,1,"system:masters"\n${tokens.guest},guest,2\n`, {
    mode: 0o600,
  });
  processes.run("apiserver", binaries.apiServer, [
    `--etcd-servers=${etcd}`,
    `--bind-address=${address}`,
    `--secure-port=${apiPort}`,
    `--cert-dir=${file("certificates")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("sa.pub")}`,
    `--service-account-signing-key-file=${file("sa.key")}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--kubelet-preferred-address-types=InternalIP",
    // It would announce a loopback address, which it refuses to do.
    ...(address === LOOPBACK ? ["--endpoint-reconciler-type=none"] : [`--advertise-address=${address}`]),
    "--profiling=false",
  ]);
  const kubeconfig = file("kubeconfig");
  const certificate = file("certificates/apiserver.crt");
  await processes.until(() => existsSync(certificate), START_MS);
  const server = `https://${address}:${apiPort}`;
  await writeFile(kubeconfig, stringify(configuration(server, readFileSync(certificate), tokens)), { mode: 0o600 });

  const kubectl = async (args: readonly string[], input = "") => {
    const env = { PATH: process.env.PATH ?? "", HOME: directory, KUBECONFIG: kubeconfig };
    const result = await execa(binaries.kubectl, ["--context=fleet", ...args], { input, env, extendEnv: false });
    return result.stdout;
  };
  const answers = (...args: string[]) =>
    kubectl(args).then(
      () => true,
      () => false,
    );
  await processes.until(() => answers("get", "--raw=/readyz"), START_MS);
  processes.run("controllers", binaries.controllerManager, [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${file("sa.key")}`,
    `--root-ca-file=${certificate}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--concurrent-statefulset-syncs=2",
  ]);
  await processes.until(() => answers("get", "serviceaccount", "default", "-n", "default"), START_MS);
  return { kubeconfig, kubectlPath: binaries.kubectl, kubectl };
}

function configuration(
  server: string,
  certificate: Buffer,
  tokens: { readonly fleet: string; readonly guest: string },
) {
  const cluster = { server, "certificate-authority-data": certificate.toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: Object.entries(tokens).map(([name, token]) => ({ name, user: { token } })),
    contexts: Object.keys(tokens).map((name) => ({ name, context: { cluster: "test", user: name } })),
    "current-context": "fleet",
  };
}
