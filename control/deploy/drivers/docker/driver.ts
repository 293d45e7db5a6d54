/** The Docker target outside the resource graph: what stands on its hosts, how images get there, how nodes are reached. */

import { parseDockerHost } from "../../../../infra/components/docker/address.ts";
import type { DockerNodePlan, DockerPlan, ImageIdentity, SecretValues } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { ExistingData, NodeConnection, ObservedNode, Report, TargetDriver } from "../../driver.ts";
import { identityOf, inspectImage } from "../../images/inspect.ts";
import { hasImage, pullImage, runnable, sendImage } from "../../images/transport.ts";
import {
  type FoundContainer,
  findContainers,
  findNetworks,
  findVolumes,
  removeContainer,
  removeVolume,
  volumeUsers,
} from "./inventory.ts";
import { atPlace, dataNames, hostsOf, nodeContainer } from "./names.ts";
import { preflight } from "./preflight.ts";
import { openTunnel } from "./ssh.ts";

const HERE = "local";

export function createDockerDriver(plan: DockerPlan, secrets: Pick<SecretValues, "registry">): TargetDriver {
  return {
    preflight: (signal) => preflight(plan, signal),
    imagePlaces: () => hostsOf(plan),
    // A container that is made by digest needs that digest there; the same image without it would be pulled again.
    hasImage: (image, place, signal) => hasImage(runnable(image), place, signal),
    deliverImage: (image, place, report, signal) => deliver(secrets.registry, { image, place, report, signal }),
    existingData: (signal) => existingData(plan, signal),
    observe: (signal) => observe(plan, signal),
    // The provider reads every setting that it makes.
    drift: async () => [],
    findInterrupted: (type, name, signal) => findInterrupted(plan, type, name, signal),
    deleteData: (names, signal) => deleteData(plan, names, signal),
    connect: (node, signal) => connect(plan, node, signal),
  };
}

interface Delivery {
  readonly image: ImageIdentity | string;
  readonly place: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

async function deliver(registry: SecretValues["registry"], delivery: Delivery): Promise<void> {
  const { image, place, report, signal } = delivery;
  if (await hasImage(runnable(image), place, signal)) return;
  if (typeof image !== "string") {
    // Only a registry gives an image with its digest; only an engine gives one that has none.
    if (image.digest !== null) await pullImage(image, place, registry, report, signal);
    else await sendImage({ image, from: HERE, to: place, report, signal });
    return;
  }
  const local = place === HERE ? null : await inspectImage(image, HERE, signal);
  if (local === null) await pullImage(image, place, registry, report, signal);
  else await sendImage({ image: identityOf(local, image), from: HERE, to: place, report, signal });
}

async function existingData(plan: DockerPlan, signal: AbortSignal): Promise<ExistingData[]> {
  const found = hostsOf(plan).map(async (place) => {
    const names = atPlace(dataNames(plan), place).map(({ name }) => name);
    const volumes = await findVolumes(names, place, signal);
    const users = volumes.length === 0 ? null : await volumeUsers(place, signal);
    return volumes.map(({ name, stack }) => {
      const usedBy = users?.get(name);
      return { name, place, stack, ...(usedBy === undefined ? {} : { usedBy }) };
    });
  });
  return (await Promise.all(found)).flat();
}

async function observe(plan: DockerPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const places = [...new Set(plan.nodes.map((node) => node.host))];
  const found = new Map(
    await Promise.all(places.map(async (place) => [place, await containersAt(plan, place, signal)] as const)),
  );
  return plan.nodes.map((node) => observed(plan, node, found.get(node.host) ?? null));
}

/** Null where the host does not answer: its nodes are unknown, which is not the same as gone. */
async function containersAt(
  plan: DockerPlan,
  place: string,
  signal: AbortSignal,
): Promise<readonly FoundContainer[] | null> {
  const names = plan.nodes.filter(({ host }) => host === place).map(({ name }) => nodeContainer(plan, name));
  try {
    return await findContainers(names, place, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}

function observed(plan: DockerPlan, node: DockerNodePlan, containers: readonly FoundContainer[] | null): ObservedNode {
  const workload = nodeContainer(plan, node.name);
  const common = { name: node.name, workload, place: node.host };
  if (containers === null) return { ...common, state: "unknown", health: "unknown", image: null };
  const container = containers.find(({ name, stack }) => name === workload && stack === plan.stack);
  if (!container) return { ...common, state: "missing", health: "unknown", image: null };
  return { ...common, state: stateOf(container), health: healthOf(container), image: container.image };
}

function stateOf({ status }: FoundContainer): ObservedNode["state"] {
  return status === "running" ? "running" : "stopped";
}

/** Of a container that does not run Docker repeats the last answer: it says nothing about now. */
function healthOf({ status, health }: FoundContainer): ObservedNode["health"] {
  if (status !== "running") return "unknown";
  return health === "healthy" || health === "starting" || health === "unhealthy" ? health : "unknown";
}

const FINDERS = {
  "docker:index/volume:Volume": findVolumes,
  "docker:index/network:Network": findNetworks,
} as const;
const CONTAINER_TYPE = "docker:index/container:Container";

/** Only what this stack has made: something else of that name is a conflict, not the rest of an interrupted run. */
async function findInterrupted(
  plan: DockerPlan,
  type: string,
  name: string,
  signal: AbortSignal,
): Promise<string | null> {
  const find = Object.entries(FINDERS).find(([known]) => known === type)?.[1];
  for (const place of hostsOf(plan)) {
    if (type === CONTAINER_TYPE) await clearContainer(plan, name, place, signal);
    const [found] = find ? await find([name], place, signal) : [];
    if (found?.name === name && found.stack === plan.stack) return found.id;
  }
  return null;
}

/**
 * Docker makes a container in several steps, and nobody can see which were done: its files or its network may be missing.
 * Nothing in it lasts, so that it goes and is made anew.
 */
async function clearContainer(plan: DockerPlan, name: string, place: string, signal: AbortSignal): Promise<void> {
  const [found] = await findContainers([name], place, signal);
  if (found?.name === name && found.stack === plan.stack) await removeContainer(found.id, place, signal);
}

async function deleteData(plan: DockerPlan, names: readonly ExistingData[], signal: AbortSignal): Promise<void> {
  const planned = dataNames(plan);
  const strange = names.find(({ name, place }) => !planned.some((own) => own.name === name && own.place === place));
  if (strange) {
    throw new InfraError("INFRA_DATA_PROTECTED", `${strange.name} at ${strange.place} is no data of this deployment.`);
  }
  for (const { name, place } of names) await removeVolume(name, place, signal);
}

async function connect(plan: DockerPlan, name: string, signal: AbortSignal): Promise<NodeConnection> {
  const node = plan.nodes.find((candidate) => candidate.name === name);
  if (!node?.publish) {
    throw new InfraError(
      "INFRA_PLAN_INVALID",
      node ? `Node ${name} publishes no port.` : `The deployment has no node ${name}.`,
      { hint: `It has ${plan.nodes.map((known) => known.name).join(", ")}.` },
    );
  }
  const scheme = node.tls ? "https" : "http";
  const { address, port } = node.publish;
  // An address that means every interface is reached by loopback.
  const target = { address: address === "0.0.0.0" || address === "::" ? "127.0.0.1" : address, port };
  const ssh = parseDockerHost(node.host);
  if (ssh === null) {
    const host = target.address.includes(":") ? `[${target.address}]` : target.address;
    return { url: `${scheme}://${host}:${port}`, close: async () => undefined };
  }
  const tunnel = await openTunnel(ssh, target, signal);
  return { url: `${scheme}://127.0.0.1:${tunnel.port}`, close: tunnel.close };
}
