/**
 * The tools of other people that lanes and suites need, and whether each works here, found by using it once: a binary that
 * cannot do its work does not count. A suite that cannot run without one says `describe.skipIf(lacks("bubblewrap"))`; what was
 * left out is named at the end of a run, and REQUIRE_SUITES=bubblewrap,docker turns it into a failure.
 */

import { spawnSync } from "node:child_process";
import { accessSync, appendFileSync, constants } from "node:fs";
import { networkInterfaces } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { ROOT } from "../../scripts/lib/paths.js";
import { testImages } from "../support/docker/names.ts";
import { clusterMissing } from "../support/kubernetes/binaries.ts";
import { liveClusterMissing, namedKubeconfig } from "../support/kubernetes/live-cluster.ts";
import { missingForCts } from "../support/proxmox/template.ts";
import { missingPlugins } from "../support/pulumi-plugins.ts";
import { earlierRelease } from "../support/release-tree.ts";
import { findPostgres } from "./postgres-binaries.ts";
import { engineFolder } from "./pulumi/engine.ts";

/** The user who owns nothing. */
const NOBODY = 65_534;
/** Longest time that a probe may take, in milliseconds. */
const PROBE_TIMEOUT_MS = 60_000;

/** Name -> why it cannot be used here, or undefined when it can. */
const PROBES = {
  postgresql: () => {
    if (process.env.CAIRN_TEST_PG_URL) return undefined;
    const found = findPostgres();
    return found.ok ? undefined : `${found.reason} (Debian: postgresql-17 and postgresql-17-pgvector)`;
  },
  // A container may forbid user namespaces, and then the binary is there and useless.
  bubblewrap: () =>
    works("bwrap", ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]),
  git: () => works("git", ["--version"]),
  "release-tag": () =>
    earlierRelease() === null ? "no tag of an earlier release is below this commit (git fetch --tags)" : undefined,
  docker: () => works("docker", ["info", "--format", "{{.ServerVersion}}"]),
  "docker-images": () => {
    const { status } = spawnSync("docker", ["image", "inspect", ...Object.values(testImages())], { stdio: "ignore" });
    return status === 0 ? undefined : "its images have not been made (npm run prepare-lanes docker)";
  },
  /** Root can start one in a network namespace of its own. */
  "docker-twice": () => root() ?? works("unshare", ["--net", "--", "dockerd", "--version"]),
  sshd: () => works("sshd", ["-V"], ["/usr/sbin", "/usr/local/sbin"]),
  /** Containers as on a Proxmox host. */
  lxc: missingForCts,
  pulumi: () => {
    const folder = engineFolder();
    return folder === undefined
      ? "the engine is neither installed nor built (npm run prepare-lanes engine)"
      : works("pulumi", ["version"], [folder]);
  },
  // Providers and language hosts come from Pulumi's own server and from no package registry.
  "pulumi-command": () => missingPlugins("command"),
  "pulumi-docker": () => missingPlugins("docker"),
  "pulumi-kubernetes": () => missingPlugins("kubernetes"),
  "pulumi-nodejs": () =>
    onPath("pulumi-language-nodejs", [engineFolder() ?? ""]) ? undefined : "its host for Node.js is not installed",
  /** What a cluster of the test's own is made of. */
  kubernetes: clusterMissing,
  /** One that runs pods: that of CAIRN_TEST_KUBECONFIG, or else the test's own. */
  "live-cluster": liveClusterMissing,
  "live-cluster-images": () =>
    namedKubeconfig() === undefined || process.env.CAIRN_TEST_LOAD_IMAGE?.trim()
      ? undefined
      : "CAIRN_TEST_LOAD_IMAGE does not say how a node's image gets to the cluster",
  "network-policies": () =>
    namedKubeconfig() !== undefined && process.env.CAIRN_TEST_NETWORK_POLICIES === "1"
      ? undefined
      : "no cluster of CAIRN_TEST_KUBECONFIG is said to enforce them (CAIRN_TEST_NETWORK_POLICIES=1)",
  /** A terminal that a test can read and type on: a container may have none to give. */
  "pseudo-terminal": () => works("python3", ["-c", "import pty, termios; pty.openpty()"]),
  /** A terminal around one command. */
  script: () => works("script", ["--quiet", "--return", "--command", "true", "/dev/null"]),
  bash: () => works("bash", ["--version"]),
  zsh: () => works("zsh", ["--version"]),
  fish: () => works("fish", ["--version"]),
  /** Turns the clock of a process while it runs. */
  faketime: () => works("faketime", ["-m", "-f", "+0", "true"]),
  systemd: () => works("systemd-analyze", ["--version"]),
  /** Only root can act as another user. */
  root,
  /** That another user can be acted as, and can start programs of this checkout. */
  "other-user": () => root() ?? checkoutClosed(),
  /** That a program of this checkout can run without root's rights. */
  "ordinary-user": () => (root() === undefined ? checkoutClosed() : undefined),
  x64: () => (process.arch === "x64" ? undefined : `this processor is ${process.arch}`),
  "network-address": () => {
    const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
    return all.some(({ family, internal }) => family === "IPv4" && !internal)
      ? undefined
      : "this machine has no address but loopback";
  },
} satisfies Readonly<Record<string, () => string | undefined>>;

export type Tool = keyof typeof PROBES;

export const TOOLS = Object.keys(PROBES).filter((name): name is Tool => name in PROBES);

const probed = new Map<Tool, string | undefined>();

/** Why a tool cannot be used here, or undefined when it can. Probed once in a process. */
export function lackOf(tool: Tool): string | undefined {
  if (!probed.has(tool)) probed.set(tool, PROBES[tool]());
  return probed.get(tool);
}

/**
 * Why a suite that needs these tools cannot run here, or undefined when it can, for `skipIf`. Every tool that is lacking is
 * written to the file of CAIRN_TEST_LACKS, for the end of the run.
 */
export function lacks(...tools: readonly Tool[]): string | undefined {
  const missing = tools.filter((tool) => lackOf(tool) !== undefined);
  const file = process.env.CAIRN_TEST_LACKS;
  if (file) for (const tool of missing) appendFileSync(file, `${tool}\n`);
  return missing.length === 0 ? undefined : missing.map((tool) => `${tool}: ${lackOf(tool)}`).join("; ");
}

/** Names in REQUIRE_SUITES. Throws for one that is no tool's. */
export function requiredSuites(env: Readonly<Record<string, string | undefined>>): ReadonlySet<Tool> {
  return listed("REQUIRE_SUITES", env.REQUIRE_SUITES, TOOLS);
}

/** Names between commas. Throws for an unknown one, so that a typing error cannot skip silently. */
export function listed<Name extends string>(
  variable: string,
  value: string | undefined,
  allowed: readonly Name[],
): ReadonlySet<Name> {
  const names = (value ?? "").split(",").map((name) => name.trim());
  const found = new Set<Name>();
  for (const name of names.filter((one) => one !== "")) {
    const match = allowed.find((one) => one === name);
    if (match === undefined) throw new Error(`${variable} names "${name}"; known: ${allowed.join(", ")}`);
    found.add(match);
  }
  return found;
}

function root(): string | undefined {
  return process.getuid?.() === 0 ? undefined : "needs root";
}

/** One below root's own home is closed to everybody else. Asked by root, for whom it makes a difference. */
function checkoutClosed(): string | undefined {
  const read = `require("node:fs").readFileSync(${JSON.stringify(join(ROOT, "package.json"))})`;
  const as = { uid: NOBODY, gid: NOBODY, cwd: "/" };
  const { status } = spawnSync(process.execPath, ["-e", read], { ...as, stdio: "ignore", timeout: PROBE_TIMEOUT_MS });
  return status === 0 ? undefined : "other users of this machine cannot read the checkout";
}

function works(name: string, args: readonly string[], moreFolders: readonly string[] = []): string | undefined {
  const path = onPath(name, moreFolders);
  if (path === undefined) return `${name} is not installed`;
  const result = spawnSync(path, args, { stdio: ["ignore", "pipe", "pipe"], timeout: PROBE_TIMEOUT_MS });
  if (result.status === 0) return undefined;
  const words = result.stderr?.toString().trim().split("\n")[0] ?? "";
  return `${name} does not work here${words === "" ? "" : ` (${words})`}`;
}

function onPath(name: string, moreFolders: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...moreFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
