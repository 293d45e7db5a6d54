/** What preflight finds in the cluster itself: addresses that nodes should not reach, and whether it has user namespaces. */

import { BlockList, isIP } from "node:net";
import { z } from "zod";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { Finding } from "../../../driver.ts";
import { type CallOptions, type Kubectl, unknownIfForbidden } from "./kubectl.ts";
import { checked, parse } from "./objects.ts";

/** The first minor version that has user namespaces without being asked. Older servers drop the field without a word. */
const USER_NAMESPACES_SINCE = 33;

const versionSchema = z.object({ serverVersion: z.object({ major: z.string(), minor: z.string() }).nullish() });
const serviceSchema = z.object({
  spec: z.object({ clusterIP: z.string().nullish(), clusterIPs: z.array(z.string()).nullish() }),
});
const endpointsSchema = z.object({
  subsets: z.array(z.object({ addresses: z.array(z.object({ ip: z.string() })).nullish() })).nullish(),
});
const serviceNetworkSchema = z.object({ spec: z.object({ cidrs: z.array(z.string()) }) });

/** `version`: the answer of `kubectl version --output=json`. */
export function checkUserNamespaces(plan: KubernetesPlan, version: string): Finding[] {
  const { serverVersion } = checked(versionSchema, parse(version));
  // Providers write such as `33+`.
  const minor = Number.parseInt(serverVersion?.minor ?? "", 10);
  if (!plan.userNamespaces || Number.isNaN(minor) || minor >= USER_NAMESPACES_SINCE) return [];
  return [
    {
      severity: "error",
      code: "INFRA_PLAN_INVALID",
      message: `The cluster's version, 1.${minor}, does not have user namespaces for every pod; 1.${USER_NAMESPACES_SINCE} does.`,
      hint: "Take out deployment.kubernetes.user_namespaces, or upgrade the cluster.",
    },
  ];
}

/**
 * Commands of agents run in the nodes' pods. Only the cluster has the list of its own addresses, and not every user may
 * ask: then nothing is found.
 */
export async function checkDeniedNetworks(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  options: CallOptions,
): Promise<Finding[]> {
  /** The object that stands for the cluster's API; null where the user may not read it, or the version does not have the kind. */
  const read = async <T>(schema: z.ZodType<T>, kind: string): Promise<T | null> => {
    const get = ["get", kind, "kubernetes", "--namespace=default", "--ignore-not-found", "--output=json"];
    const text = await kubectl.run(get, options).catch(unknownIfUnreadable);
    return text === undefined || text.trim() === "" ? null : checked(schema, parse(text));
  };
  const service = await read(serviceSchema, "service");
  const endpoints = await read(endpointsSchema, "endpoints");
  const services = await read(serviceNetworkSchema, "servicecidrs.networking.k8s.io");
  const addresses = [
    ...(service?.spec.clusterIPs ?? [service?.spec.clusterIP ?? ""]),
    ...(endpoints?.subsets ?? []).flatMap((subset) => (subset.addresses ?? []).map(({ ip }) => ip)),
  ].filter((address) => isIP(address) !== 0);
  const open = addresses.filter((address) => !plan.deniedNetworks.some((network) => contains(network, address)));
  if (open.length === 0) return [];
  const networks = services?.spec.cidrs ?? [];
  const single = open.filter((address) => !networks.some((network) => contains(network, address)));
  const missing = [...networks, ...single.map((address) => `${address}/${isIP(address) === 4 ? 32 : 128}`)];
  const wanted = [...new Set([...plan.deniedNetworks, ...missing])];
  return [
    {
      severity: "warning",
      code: "INFRA_PLAN_INVALID",
      message: `Commands of agents can reach the cluster's API at ${open.join(" and ")}.`,
      hint: `Set deployment.kubernetes.denied_networks: [${wanted.map((one) => JSON.stringify(one)).join(", ")}]; DNS is let through.`,
    },
  ];
}

function unknownIfUnreadable(thrown: unknown): undefined {
  if (thrown instanceof InfraError && /have a resource type/.test(thrown.message)) return;
  unknownIfForbidden(thrown);
}

function contains(network: string, address: string): boolean {
  const [start = "", prefix] = network.split("/");
  if (isIP(start) !== isIP(address)) return false;
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  const list = new BlockList();
  list.addSubnet(start, Number(prefix), family);
  return list.check(address, family);
}
