/**
 * A cluster with machines that run pods, given by its kubeconfig in CAIRN_TEST_KUBECONFIG (it must name a current context and
 * have a default storage class), and the images that it can run: CAIRN_TEST_NODE_IMAGE has Node 24 as its command,
 * CAIRN_TEST_POSTGRES_IMAGE is PostgreSQL with pgvector. CAIRN_TEST_NETWORK_POLICIES=1: its network enforces them.
 * CAIRN_TEST_LOAD_IMAGE: a command that brings an image of this machine's Docker to the cluster's machines, such as
 * `kind load docker-image`; the tests with a real node want it.
 */

import { spawnSync } from "node:child_process";
import { missingPlugins } from "../pulumi-plugins.ts";
import { kubectlProgram } from "./binaries.ts";

export interface LiveCluster {
  readonly kubeconfig: string;
  readonly context: string;
  readonly nodeImage: string;
  readonly postgresImage: string;
  /** Program and arguments that come before an image's name; undefined where nothing brings images there. */
  readonly load: readonly string[] | undefined;
  /** Whether its network enforces NetworkPolicies. */
  readonly enforcesPolicies: boolean;
}

export type LiveChoice = { readonly cluster: LiveCluster } | { readonly missing: string };

const DEADLINE_MS = 60_000;

/** Looks once; says what is missing for the tests to be skipped with. */
export function findLiveCluster(): LiveChoice {
  const kubectl = kubectlProgram();
  const kubeconfig = process.env.CAIRN_TEST_KUBECONFIG;
  if (kubeconfig === undefined || kubeconfig === "") return { missing: "CAIRN_TEST_KUBECONFIG names no cluster" };
  const context = output(kubectl, [`--kubeconfig=${kubeconfig}`, "config", "current-context"])?.trim();
  if (context === undefined || context === "") return { missing: `${kubeconfig} has no current context` };
  if (output(kubectl, [`--kubeconfig=${kubeconfig}`, "get", "--raw=/readyz", "--request-timeout=30s"]) === undefined) {
    return { missing: "the cluster of CAIRN_TEST_KUBECONFIG does not answer" };
  }
  const plugins = missingPlugins("kubernetes");
  if (plugins !== undefined) return { missing: plugins };
  return {
    cluster: {
      kubeconfig,
      context,
      nodeImage: process.env.CAIRN_TEST_NODE_IMAGE ?? "node:24-slim",
      postgresImage: process.env.CAIRN_TEST_POSTGRES_IMAGE ?? "pgvector/pgvector:0.8.1-pg17",
      load: process.env.CAIRN_TEST_LOAD_IMAGE?.trim()
        ? process.env.CAIRN_TEST_LOAD_IMAGE.trim().split(/\s+/)
        : undefined,
      enforcesPolicies: process.env.CAIRN_TEST_NETWORK_POLICIES === "1",
    },
  };
}

function output(program: string, args: readonly string[]): string | undefined {
  const result = spawnSync(program, [...args], {
    stdio: ["ignore", "pipe", "ignore"],
    timeout: DEADLINE_MS,
    encoding: "utf8",
  });
  return result.status === 0 ? result.stdout : undefined;
}
