/**
 * What each node calls itself in its fleet, and where the others reach it. In a mesh every node gets an address, as far as the
 * plan can know one; what is written in cairn.yaml comes first. Pure.
 */
import type { Config } from "../../runtime/config/index.ts";
import { type TreeMap, valueAt } from "../../runtime/config/tree.ts";
import { parseDockerHost } from "../components/docker/address.ts";
import { peersName, podName } from "../components/kubernetes/names.ts";
import { stackNames } from "./names.ts";
import { dockerHostOf, type NodeSettings, nodePath, publishedPort, replicasOf } from "./node.ts";
import type { Problems } from "./problems.ts";
import { CONTAINER } from "./types.ts";

/** In a pod its own name: the pods of one group share a configuration. */
export const POD_NAME_VARIABLE = "SERVICE_POD_NAME";

export interface NodeSaid {
  /** `mesh.name`. */
  readonly name: string;
  /** `mesh.advertise`; null: it names no address. */
  readonly advertise: string | null;
}

export interface AddressInput {
  readonly config: Config;
  /** As the operator wrote it: a reference stays one. */
  readonly tree: TreeMap;
  readonly nodes: readonly NodeSettings[];
  readonly listenPort: number;
}

/** Of each node, in their order. Warns of nodes that others could not reach. */
export function nodeAddresses(input: AddressInput, problems: Problems): readonly NodeSaid[] {
  const { config, nodes } = input;
  const { mesh } = config;
  if (mesh.advertise !== undefined && nodes.length > 1) {
    problems.warn(
      "mesh.advertise",
      `one address cannot lead to several nodes: only ${nodes[0]?.name} gets it, and deployment.nodes[].advertise is for the others`,
    );
  }
  return nodes.map((node, index) => {
    const written = node.advertise ?? (index === 0 ? writtenAdvertise(input) : undefined);
    const derived = mesh.enabled ? derive(input, index) : null;
    // Pods of one group cannot all be called the same, nor have one address.
    if (derived?.perPod) return { name: `\${${POD_NAME_VARIABLE}}`, advertise: derived.address };
    if (written !== undefined) return { name: node.name, advertise: written };
    if (derived === null) return { name: node.name, advertise: null };
    const key = config.deployment.nodes.length === 0 ? "mesh.advertise" : nodePath(config, index, "advertise");
    if (derived.address === null) {
      problems.warn(key, `no other node can reach ${node.name}: ${derived.why}, so write the address that they reach`);
    } else if (nodes.length === 1 && derived.isInternal) {
      problems.warn(
        key,
        `${derived.address} leads to ${node.name} within the deployment alone: write the address under which nodes of elsewhere reach it`,
      );
    }
    return { name: node.name, advertise: derived.address };
  });
}

function writtenAdvertise({ tree, config }: AddressInput): string | undefined {
  const written = valueAt(tree, ["mesh", "advertise"]);
  return typeof written === "string" ? written : config.mesh.advertise;
}

type Derived =
  | { readonly address: string; readonly isInternal: boolean; readonly perPod?: boolean }
  | { readonly address: null; readonly why: string; readonly perPod?: undefined };

function derive({ config, nodes, listenPort }: AddressInput, index: number): Derived {
  const { deployment } = config;
  const { name: stack } = deployment;
  const node = nodes[index];
  if (node === undefined) return { address: null, why: "there is no such node" };
  if (deployment.target === "kubernetes") {
    const { namespace } = deployment.kubernetes;
    const perPod = replicasOf(config) > 1;
    const pod = perPod ? `\${${POD_NAME_VARIABLE}}` : podName(stack, node.name, 0);
    // By the headless Service, which has one name a pod.
    const address = `${pod}.${peersName(stack, node.name)}.${namespace}.svc:${CONTAINER.port}`;
    return { address, isInternal: !perPod, perPod };
  }
  const port = publishedPort(config, nodes, index, listenPort);
  if (deployment.target === "proxmox") {
    const { address = "dhcp" } = node;
    if (address === "dhcp") return { address: null, why: "its address comes from DHCP" };
    return { address: `${bracketed(address.replace(/\/\d+$/, ""))}:${port}`, isInternal: false };
  }
  const host = dockerHostOf(config, node);
  if (nodes.every((other) => dockerHostOf(config, other) === host)) {
    return { address: `${stackNames(stack).node(node.name)}:${CONTAINER.port}`, isInternal: true };
  }
  const ssh = parseDockerHost(host);
  if (ssh === null) return { address: null, why: "it runs on this machine, and others on other hosts" };
  return { address: `${bracketed(ssh.host)}:${port}`, isInternal: false };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
