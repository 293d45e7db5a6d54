/**
 * A real Kubernetes control plane for one test file: etcd, API server and controllers on loopback ports, with certificates and
 * tokens of their own. No machine runs pods in it; `PlayedKubelet` says what one would say.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { stringify } from "yaml";
import { freePort } from "../ports.ts";
import { type KubernetesBinaries, kubernetesBinaries } from "./binaries.ts";

const START_MS = 90_000;
const STOP_MS = 10_000;
const POLL_MS = 100;

export interface Cluster {
  /** Has the contexts `fleet` (an administrator) and `guest` (nobody in particular). */
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Runs kubectl as the administrator and gives its standard output; throws with its words when it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts one; builds Kubernetes first where that was never done. */
export async function startCluster(): Promise<Cluster> {
  const binaries = kubernetesBinaries();
  const directory = await mkdtemp(join(tmpdir(), "cairn-kube-"));
  const children: ChildProcess[] = [];
  const stop = async () => {
    for (const child of children.toReversed()) await end(child);
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    return await provision(binaries, directory, children, stop);
  } catch (error) {
    const words = lastWords(directory);
    await stop();
    throw new Error(`The cluster did not start: ${error instanceof Error ? error.message : error}\n${words}`);
  }
}

async function provision(
  binaries: KubernetesBinaries,
  directory: string,
  children: ChildProcess[],
  stop: () => Promise<void>,
): Promise<Cluster> {
  const [clientPort, peerPort, apiPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const etcd = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const run = (name: string, program: string, args: readonly string[]) =>
    children.push(launch(join(directory, `${name}.log`), program, args));
  run("etcd", binaries.etcd, [
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
  run("apiserver", binaries.apiServer, [
    `--etcd-servers=${etcd}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${apiPort}`,
    `--cert-dir=${file("certificates")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("sa.pub")}`,
    `--service-account-signing-key-file=${file("sa.key")}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    // It would announce a loopback address, which it refuses to do.
    "--endpoint-reconciler-type=none",
    "--profiling=false",
  ]);
  const kubeconfig = file("kubeconfig");
  const certificate = file("certificates/apiserver.crt");
  const deadline = Date.now() + START_MS;
  while (!existsSync(certificate)) await pause(children, deadline);
  await writeFile(kubeconfig, stringify(configuration(apiPort ?? 0, readFileSync(certificate), tokens)), {
    mode: 0o600,
  });

  const kubectl = async (args: readonly string[], input = "") => {
    const env = { PATH: process.env.PATH ?? "", HOME: directory, KUBECONFIG: kubeconfig };
    const result = await execa(binaries.kubectl, ["--context=fleet", ...args], { input, env, extendEnv: false });
    return result.stdout;
  };
  while (!(await kubectl(["get", "--raw=/readyz"]).catch(() => null))) await pause(children, deadline);
  run("controllers", binaries.controllerManager, [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${file("sa.key")}`,
    `--root-ca-file=${certificate}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--concurrent-statefulset-syncs=2",
  ]);
  while (!(await kubectl(["get", "serviceaccount", "default", "-n", "default"]).catch(() => null)))
    await pause(children, deadline);
  return { kubeconfig, kubectlPath: binaries.kubectl, kubectl, stop };
}

function configuration(port: number, certificate: Buffer, tokens: { readonly fleet: string; readonly guest: string }) {
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority-data": certificate.toString("base64"),
  };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: Object.entries(tokens).map(([name, token]) => ({ name, user: { token } })),
    contexts: Object.keys(tokens).map((name) => ({ name, context: { cluster: "test", user: name } })),
    "current-context": "fleet",
  };
}

/** The program ends with this process, even when this process is killed. */
function launch(log: string, program: string, args: readonly string[]): ChildProcess {
  const output = openSync(log, "a");
  const bound = spawnSync("setpriv", ["--version"], { stdio: "ignore" }).status === 0;
  const line = bound ? ["setpriv", "--pdeathsig", "KILL", "--", program, ...args] : [program, ...args];
  return spawn(line[0] ?? program, line.slice(1), { stdio: ["ignore", output, output] });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  // What it would tidy up is removed as a whole.
  child.kill("SIGKILL");
  await Promise.race([gone, sleep(STOP_MS, undefined, { ref: false })]);
}

async function pause(children: readonly ChildProcess[], deadline: number): Promise<void> {
  if (children.some((child) => child.exitCode !== null)) throw new Error("a part of it has ended");
  if (Date.now() > deadline) throw new Error("it takes too long");
  await sleep(POLL_MS);
}

function lastWords(directory: string): string {
  return ["etcd", "apiserver", "controllers"]
    .map((name) => join(directory, `${name}.log`))
    .filter(existsSync)
    .map((log) => readFileSync(log, "utf8").trim().split("\n").slice(-5).join("\n"))
    .join("\n");
}
