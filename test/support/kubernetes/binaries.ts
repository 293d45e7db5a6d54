/**
 * Kubernetes' own programs, built from their Go module once and kept outside the checkout, by version. Nothing is downloaded
 * but Go modules; `etcd` is the distribution's.
 */

import { spawnSync } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const MODULE = fileURLToPath(new URL("../../lanes/kubernetes/", import.meta.url));
const PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kubectl"] as const;

export interface KubernetesBinaries {
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
  readonly etcd: string;
}

/** Why no cluster can be started here, or undefined. */
export function clusterMissing(): string | undefined {
  if (onPath("etcd") === undefined) return "etcd is not installed (Debian: etcd-server)";
  return isBuilt(folder()) ? undefined : "Kubernetes has not been built (npm run prepare-lanes kubernetes)";
}

/** Builds the programs that are not there yet: about five minutes with an empty cache of Go, seconds with a full one. */
export async function buildKubernetes(): Promise<void> {
  const bin = folder();
  if (!isBuilt(bin)) await locked(bin, () => (isBuilt(bin) ? undefined : build(bin)));
}

/** The kubectl of the build, or else the one on PATH. */
export function kubectlProgram(): string {
  return isBuilt(folder()) ? join(folder(), "kubectl") : "kubectl";
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

export function kubernetesVersion(): string {
  const version = /k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/.exec(readFileSync(join(MODULE, "go.mod"), "utf8"))?.[1];
  if (version === undefined) throw new Error("go.mod names no version of Kubernetes");
  return version;
}

function folder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return join(cache, "cairn-test", `kubernetes-${kubernetesVersion()}`);
}

function isBuilt(bin: string): boolean {
  return PROGRAMS.every((name) => existsSync(join(bin, name)));
}

function build(bin: string): void {
  const version = kubernetesVersion();
  const [major, minor] = version.slice(1).split(".");
  const fresh = `${bin}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  // The programs compare their versions with each other: one without refuses to work.
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((at) => [
    `-X ${at}.gitVersion=${version}`,
    `-X ${at}.gitMajor=${major}`,
    `-X ${at}.gitMinor=${minor}`,
  ]);
  const go = onPath("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error("go is not installed (Debian: golang-go)");
  const packages = PROGRAMS.map((name) => `k8s.io/kubernetes/cmd/${name}`);
  const result = spawnSync(
    go,
    ["build", "-o", `${fresh}/`, "-ldflags", ["-s", "-w", ...stamps].join(" "), ...packages],
    {
      cwd: MODULE,
      env: { ...process.env, CGO_ENABLED: "0" },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (result.status !== 0) throw new Error("Kubernetes could not be built");
  rmSync(bin, { recursive: true, force: true });
  renameSync(fresh, bin);
}

/** One build at a time, whichever test file comes first. */
async function locked(bin: string, work: () => void): Promise<void> {
  mkdirSync(join(bin, ".."), { recursive: true });
  const { waitForLock, unlock } = createRequire(import.meta.url)("fs-native-extensions");
  const handle = openSync(`${bin}.lock`, "a+");
  try {
    await waitForLock(handle);
    work();
    unlock(handle);
  } finally {
    closeSync(handle);
  }
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
