/**
 * Kubernetes' own programs, built from their Go modules once and kept outside the checkout, by version. Nothing is downloaded
 * but Go modules; `etcd`, containerd, runc and the network plugins are the distribution's.
 */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "../../../scripts/lib/lock.js";

const MODULE = fileURLToPath(new URL("../../lanes/kubernetes/", import.meta.url));

/** Built together, in one module: its folder below MODULE, and the packages, whose last words are the programs' names. */
interface Build {
  readonly folder: string;
  readonly packages: readonly string[];
}

const command = (name: string): string => `k8s.io/kubernetes/cmd/${name}`;

const CONTROL_PLANE: readonly Build[] = [
  { folder: ".", packages: ["kube-apiserver", "kube-controller-manager", "kubectl"].map(command) },
];

/** What a machine that runs pods needs besides. */
const MACHINE: readonly Build[] = [
  { folder: ".", packages: [...["kubelet", "kube-scheduler", "kube-proxy"].map(command), "cluster/pause"] },
  { folder: "dns", packages: ["coredns"] },
];

/** Where Debian and its relatives keep the network plugins, and where everybody else does. */
const NETWORK_PLUGINS = ["/usr/lib/cni", "/opt/cni/bin"];

const FROM_DISTRIBUTION = {
  containerd: "containerd",
  ctr: "containerd",
  runc: "runc",
  ip: "iproute2",
  iptables: "iptables",
  nsenter: "util-linux",
} as const;

export interface KubernetesBinaries {
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
  readonly etcd: string;
}

export interface MachineBinaries {
  readonly kubelet: string;
  readonly scheduler: string;
  readonly proxy: string;
  readonly dns: string;
  readonly pause: string;
  /** Folder of the network plugins. */
  readonly networkPlugins: string;
}

/** Why no cluster can be started here, or undefined. */
export function clusterMissing(): string | undefined {
  if (onPath("etcd") === undefined) return "etcd is not installed (Debian: etcd-server)";
  return isBuilt(CONTROL_PLANE) ? undefined : "Kubernetes has not been built (npm run prepare-lanes kubernetes)";
}

/** Why no machine of a cluster can run pods here, or undefined. */
export function machineMissing(): string | undefined {
  const missing = clusterMissing() ?? machineToolsMissing();
  if (missing !== undefined || isBuilt(MACHINE)) return missing;
  return "the kubelet has not been built (npm run prepare-lanes live-cluster)";
}

/** Builds the control plane where it is not there: about five minutes with an empty cache of Go, seconds with a full one. */
export async function buildKubernetes(): Promise<void> {
  await build(CONTROL_PLANE);
}

/** Builds the rest, where a machine could run pods with it. */
export async function buildMachine(): Promise<void> {
  const missing = machineToolsMissing();
  if (missing !== undefined) throw new Error(missing);
  await build([...CONTROL_PLANE, ...MACHINE]);
}

/** The kubectl of the build, or else the one on PATH. */
export function kubectlProgram(): string {
  return isBuilt(CONTROL_PLANE) ? join(folder(), "kubectl") : "kubectl";
}

/** Throws when they have not been built. */
export function kubernetesBinaries(): KubernetesBinaries {
  const missing = clusterMissing();
  if (missing !== undefined) throw new Error(missing);
  const bin = folder();
  return {
    apiServer: join(bin, "kube-apiserver"),
    controllerManager: join(bin, "kube-controller-manager"),
    kubectl: join(bin, "kubectl"),
    etcd: onPath("etcd") ?? "etcd",
  };
}

/** Throws when they have not been built. */
export function machineBinaries(): MachineBinaries {
  const missing = machineMissing();
  if (missing !== undefined) throw new Error(missing);
  const bin = folder();
  return {
    kubelet: join(bin, "kubelet"),
    scheduler: join(bin, "kube-scheduler"),
    proxy: join(bin, "kube-proxy"),
    dns: join(bin, "coredns"),
    pause: join(bin, "pause"),
    networkPlugins: networkPlugins() ?? "",
  };
}

export function kubernetesVersion(): string {
  const version = /k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/.exec(readFileSync(join(MODULE, "go.mod"), "utf8"))?.[1];
  if (version === undefined) throw new Error("go.mod names no version of Kubernetes");
  return version;
}

function machineToolsMissing(): string | undefined {
  if (process.getuid?.() !== 0) return "pods need root";
  const lacking = Object.entries(FROM_DISTRIBUTION).find(([name]) => onPath(name) === undefined);
  if (lacking !== undefined) return `${lacking[0]} is not installed (Debian: ${lacking[1]})`;
  if (networkPlugins() !== undefined) return undefined;
  return "Kubernetes' network plugins are not installed (Debian: containernetworking-plugins)";
}

function networkPlugins(): string | undefined {
  return NETWORK_PLUGINS.find((each) => isExecutable(join(each, "bridge")));
}

function folder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return join(cache, "cairn-test", `kubernetes-${kubernetesVersion()}`);
}

function isBuilt(builds: readonly Build[]): boolean {
  return builds.flatMap(({ packages }) => packages).every((each) => existsSync(join(folder(), programOf(each))));
}

function programOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** One build at a time, whichever test file comes first. */
async function build(builds: readonly Build[]): Promise<void> {
  if (isBuilt(builds)) return;
  await withLock(
    "build",
    () => {
      for (const each of builds) if (!isBuilt([each])) compile(each);
    },
    folder(),
  );
}

function compile({ folder: below, packages }: Build): void {
  const bin = folder();
  const version = kubernetesVersion();
  const [major, minor] = version.slice(1).split(".");
  const fresh = join(bin, `${process.pid}`);
  mkdirSync(fresh, { recursive: true });
  // The programs compare their versions with each other: one without refuses to work.
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((at) => [
    `-X ${at}.gitVersion=${version}`,
    `-X ${at}.gitMajor=${major}`,
    `-X ${at}.gitMinor=${minor}`,
  ]);
  const go = onPath("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error("go is not installed (Debian: golang-go)");
  const result = spawnSync(
    go,
    ["build", "-o", `${fresh}/`, "-ldflags", ["-s", "-w", ...stamps].join(" "), ...packages],
    {
      cwd: join(MODULE, below),
      env: { ...process.env, CGO_ENABLED: "0" },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (result.status !== 0) throw new Error(`${packages.map(programOf).join(", ")} could not be built`);
  for (const name of packages.map(programOf)) renameSync(join(fresh, name), join(bin, name));
  rmSync(fresh, { recursive: true });
}

function onPath(name: string, more: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...more];
  return folders.map((each) => join(each, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
