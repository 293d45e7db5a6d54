/**
 * A cluster with machines that run pods: the test's own (own-cluster.ts), or the one of the kubeconfig in CAIRN_TEST_KUBECONFIG
 * (it must name a current context and have a default storage class) with the images that it can run: CAIRN_TEST_NODE_IMAGE has
 * Node 24 as its command, CAIRN_TEST_POSTGRES_IMAGE is PostgreSQL with pgvector. CAIRN_TEST_NETWORK_POLICIES=1: its network
 * enforces them. CAIRN_TEST_LOAD_IMAGE: a command that brings an image of this machine's Docker to the cluster's machines, such
 * as `kind load docker-image`; the tests with a real node want it.
 */

import { spawnSync } from "node:child_process";
import { execa } from "execa";
import { kubectlProgram, machineMissing } from "./binaries.ts";

export interface LiveCluster {
  readonly kubeconfig: string;
  readonly context: string;
  readonly nodeImage: string;
  readonly postgresImage: string;
  /** What brings an image of this machine's Docker to the cluster's machines: words that come before the image's name. */
  readonly loader: readonly string[];
  stop(): Promise<void>;
}

const DEADLINE_MS = 60_000;

/** The one of CAIRN_TEST_KUBECONFIG. */
export function namedKubeconfig(): string | undefined {
  return process.env.CAIRN_TEST_KUBECONFIG || undefined;
}

/** Why there is none for tests here, or undefined. */
export function liveClusterMissing(): string | undefined {
  const named = namedKubeconfig();
  return named === undefined ? ownMissing() : namedMissing(named);
}

/** Starts the test's own where none is named. */
export async function useLiveCluster(): Promise<LiveCluster> {
  const kubeconfig = namedKubeconfig();
  if (kubeconfig === undefined) {
    const { startOwnCluster } = await import("./own-cluster.ts");
    const own = await startOwnCluster();
    return { ...own, context: contextOf(own.kubeconfig) ?? "", loader: [own.loader] };
  }
  return {
    kubeconfig,
    context: contextOf(kubeconfig) ?? "",
    nodeImage: process.env.CAIRN_TEST_NODE_IMAGE ?? "node:24-slim",
    postgresImage: process.env.CAIRN_TEST_POSTGRES_IMAGE ?? "pgvector/pgvector:0.8.1-pg17",
    loader: (process.env.CAIRN_TEST_LOAD_IMAGE ?? "").trim().split(/\s+/),
    stop: async () => {},
  };
}

export async function loadImage({ loader: [program = "", ...words] }: LiveCluster, image: string): Promise<void> {
  await execa(program, [...words, image]);
}

function ownMissing(): string | undefined {
  const missing = machineMissing();
  if (missing !== undefined) return missing;
  return output("docker", ["info"]) === undefined ? "Docker, whose images its pods run, does not answer" : undefined;
}

function namedMissing(kubeconfig: string): string | undefined {
  if (contextOf(kubeconfig) === undefined) return `${kubeconfig} has no current context`;
  const ready = [`--kubeconfig=${kubeconfig}`, "get", "--raw=/readyz", "--request-timeout=30s"];
  if (output(kubectlProgram(), ready) !== undefined) return undefined;
  return "the cluster of CAIRN_TEST_KUBECONFIG does not answer";
}

function contextOf(kubeconfig: string): string | undefined {
  return output(kubectlProgram(), [`--kubeconfig=${kubeconfig}`, "config", "current-context"])?.trim() || undefined;
}

function output(program: string, args: readonly string[]): string | undefined {
  const result = spawnSync(program, [...args], {
    stdio: ["ignore", "pipe", "ignore"],
    timeout: DEADLINE_MS,
    encoding: "utf8",
  });
  return result.status === 0 ? result.stdout : undefined;
}
