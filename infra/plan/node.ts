/** What a node is on every target, and the values that all targets take from the configuration in the same way. */
import type { Config } from "../../runtime/config/index.ts";
import { type ListenAddress, parseListen } from "../../runtime/config/index.ts";
import { hasReference } from "../../runtime/config/references.ts";
import { type Tree, type TreeMap, valueAt } from "../../runtime/config/tree.ts";
import { ONLY_NODE } from "./names.ts";
import type { NodePlan, ResourceLimits } from "./types.ts";

export type NodeSettings = Config["deployment"]["nodes"][number];

/** What a target adds to a node. Limits are decided there, because each target has its own defaults. */
export type NodeBase = Omit<NodePlan, "limits" | "publish">;

/** The fleet's nodes in the order of the file; one, named by mesh.name, where the file has none. */
export function configuredNodes(config: Config, tree: TreeMap): readonly NodeSettings[] {
  if (config.deployment.nodes.length > 0) return config.deployment.nodes;
  // The loader fills in the name of the operator's machine, which does not hold for a container.
  const written = valueAt(tree, ["mesh", "name"]);
  return [{ name: written === undefined || written === null ? ONLY_NODE : config.mesh.name }];
}

/** `runtime.listen` as the file has it: SERVICE_LISTEN of the operator's machine does not hold for a node. */
export function writtenListen(config: Config, tree: TreeMap): ListenAddress {
  const written: Tree | undefined = valueAt(tree, ["runtime", "listen"]);
  const usual = { host: "127.0.0.1", port: 7433 };
  if (typeof written !== "string") return usual;
  const found = parseListen(hasReference(written) ? config.runtime.listen : written);
  return found === null || found.port === 0 ? usual : found;
}

export function limitsOf(
  node: NodeSettings,
  fallback: { memory?: number | undefined; cpus?: number | undefined },
): ResourceLimits {
  return { memoryBytes: node.memory ?? fallback.memory ?? null, cpus: node.cpus ?? fallback.cpus ?? null };
}

/** Docker host that a node runs on: `local`, or `ssh://...`. */
export function dockerHostOf({ deployment }: Config, node: NodeSettings): string {
  return node.host ?? deployment.docker.host;
}

/** Port that a node is published on: on docker each further node of a host has the next one. */
export function publishedPort(
  config: Config,
  nodes: readonly NodeSettings[],
  index: number,
  listenPort: number,
): number {
  const node = nodes[index];
  if (node?.port !== undefined) return node.port;
  if (config.deployment.target !== "docker" || node === undefined) return listenPort;
  const host = dockerHostOf(config, node);
  return listenPort + nodes.slice(0, index).filter((other) => dockerHostOf(config, other) === host).length;
}

/** Pods of a group. A node that is named is one node; only the nameless fleet is one group of equal pods. */
export function replicasOf({ deployment: { nodes, kubernetes } }: Config): number {
  return nodes.length === 0 ? kubernetes.replicas : 1;
}

/** Without TLS only the node's own host reaches it. */
export function publishAddress(tls: boolean): string {
  return tls ? "0.0.0.0" : "127.0.0.1";
}

/** Path of a node's key in the configuration, for messages. */
export function nodePath(config: Config, index: number, key: string): string {
  return config.deployment.nodes.length === 0 ? `deployment.nodes` : `deployment.nodes[${index}].${key}`;
}
