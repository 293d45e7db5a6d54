/** Versions of the tools that suites need, for the record of a run. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../../scripts/lib/paths.js";
import { kubernetesVersion } from "../support/kubernetes/binaries.ts";
import { namedKubeconfig } from "../support/kubernetes/live-cluster.ts";
import { findPostgres } from "./postgres-binaries.ts";
import { pathWithEngine } from "./pulumi/engine.ts";

const VERSIONS: Readonly<Record<string, () => string | undefined>> = {
  node: () => `Node ${process.versions.node}`,
  postgresql: () => {
    const found = findPostgres();
    return found.ok ? labelled("PostgreSQL", join(found.bin, "postgres"), "--version") : undefined;
  },
  docker: () => labelled("Docker", "docker", "version", "--format", "{{.Server.Version}}"),
  pulumi: () => labelled("Pulumi", "pulumi", "version"),
  "pulumi-docker": () => provider("docker"),
  "pulumi-command": () => provider("command"),
  "pulumi-kubernetes": () => provider("kubernetes"),
  kubernetes: () => `Kubernetes ${kubernetesVersion().slice(1)}`,
  "live-cluster": () =>
    namedKubeconfig() === undefined ? labelled("containerd", "containerd", "--version") : undefined,
};

/**
 * What stands for a tool, such as `Docker 28.1.1`, with what it works for: the engine of providers, the Kubernetes of a cluster. Empty
 * for tools that a version says little of.
 */
export function versionOf(tool: string): string[] {
  const own = cached(tool);
  if (own === undefined) return [];
  if (tool.startsWith("pulumi-")) return [cached("pulumi"), own].filter((version) => version !== undefined);
  return tool === "live-cluster" ? [`Kubernetes ${kubernetesVersion().slice(1)}`, own] : [own];
}

const found = new Map<string, string | undefined>();

function cached(tool: string): string | undefined {
  if (!found.has(tool)) found.set(tool, VERSIONS[tool]?.());
  return found.get(tool);
}

/** The version of the package is that of the plugin that the engine takes. */
function provider(name: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", "@pulumi", name, "package.json"), "utf8"));
  return `${name} provider ${version}`;
}

function labelled(label: string, command: string, ...args: readonly string[]): string | undefined {
  const env = { ...process.env, PATH: pathWithEngine(), PULUMI_SKIP_UPDATE_CHECK: "true" };
  const { stdout } = spawnSync(command, args, { encoding: "utf8", env, timeout: 30_000 });
  const version = /\d+(?:\.\d+)+/.exec(stdout ?? "")?.[0];
  return version === undefined ? undefined : `${label} ${version}`;
}
