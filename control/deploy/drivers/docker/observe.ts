/** Every part of a plan as it is on its Docker hosts, and what differs from what the state records. */

import { stackNames } from "../../../../infra/plan/names.ts";
import type { DockerNodePlan, DockerPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { isCrashLoop } from "../../crash-loop.ts";
import { endWords, memorySetting } from "../../end-words.ts";
import type { RecordedResource } from "../../engine/checkpoint.ts";
import type { Inspection, ObservedNode, ObservedPart } from "../../inspection.ts";
import { driftAt, type HostInventory, nodeOf } from "./host/drift.ts";
import type { FoundContainer } from "./host/found-container.ts";
import { type FoundThing, findContainers, findNetworks, findVolumes, formerEnd } from "./host/inventory.ts";
import { atPlace, containerNames, dataNames, hostsOf, nodeContainer } from "./host/names.ts";

export async function observe(plan: DockerPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const places = [...new Set(plan.nodes.map((node) => node.host))];
  const found = new Map(
    await Promise.all(places.map(async (place) => [place, await containersAt(plan, place, signal)] as const)),
  );
  return plan.nodes.map((node) => observed(plan, node, found.get(node.host) ?? null));
}

export async function inspect(
  plan: DockerPlan,
  recorded: readonly RecordedResource[],
  signal: AbortSignal,
): Promise<Inspection> {
  const hosts = await Promise.all(
    hostsOf(plan).map(async (place) => [place, await inventoryOf(plan, place, recorded, signal)] as const),
  );
  const at = new Map(hosts);
  return {
    nodes: plan.nodes.map((node) => observed(plan, node, at.get(node.host)?.containers ?? null)),
    parts: hosts.flatMap(([place, host]) => partsAt(plan, place, host)),
    drift: hosts.flatMap(([, host]) => (host === null ? [] : driftAt(plan, recorded, host))),
  };
}

/** Null where the host does not answer: its nodes are unknown, which is not the same as gone. */
function containersAt(plan: DockerPlan, place: string, signal: AbortSignal): Promise<FoundContainer[] | null> {
  const names = plan.nodes.filter(({ host }) => host === place).map(({ name }) => nodeContainer(plan, name));
  return orUnknown(containersWithEnds(names, place, signal), signal);
}

/** One that runs again knows of its former end by Docker's events alone; only of what is not healthy it is worth asking. */
async function containersWithEnds(
  names: readonly string[],
  place: string,
  signal: AbortSignal,
): Promise<FoundContainer[]> {
  const found = await findContainers(names, place, signal);
  const hasEnded = ({ status, health, restarts }: FoundContainer): boolean =>
    status === "running" && health !== "healthy" && restarts > 0;
  return Promise.all(
    found.map(async (one) => (hasEnded(one) ? { ...one, end: await formerEnd(one, place, signal) } : one)),
  );
}

function inventoryOf(
  plan: DockerPlan,
  place: string,
  recorded: readonly RecordedResource[],
  signal: AbortSignal,
): Promise<HostInventory | null> {
  const names = atPlace(containerNames(plan), place).map(({ name }) => name);
  // A container that was renamed is found by its id alone. Other hosts know nothing of it.
  const ids = recorded.flatMap(({ type, id }) => (type.endsWith(":Container") && id !== null ? [id] : []));
  const read = async (): Promise<HostInventory> => {
    const [containers, networks, volumes] = await Promise.all([
      containersWithEnds([...names, ...ids], place, signal),
      findNetworks([plan.network], place, signal),
      findVolumes(
        atPlace(dataNames(plan), place).map(({ name }) => name),
        place,
        signal,
      ),
    ]);
    const unique = [...new Map(containers.map((one) => [one.id, one])).values()];
    // Docker also finds a network by the beginning of its id.
    return { place, containers: unique, networks: networks.filter(({ name }) => name === plan.network), volumes };
  };
  return orUnknown(read(), signal);
}

async function orUnknown<T>(found: Promise<T>, signal: AbortSignal): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}

function observed(plan: DockerPlan, node: DockerNodePlan, containers: readonly FoundContainer[] | null): ObservedNode {
  const workload = nodeContainer(plan, node.name);
  return { name: node.name, workload, place: node.host, ...serving(plan, workload, containers) };
}

type Serving = Pick<ObservedNode, "state" | "health" | "image" | "version" | "since" | "restarts" | "reason">;

const NOTHING = { health: "unknown", image: null, version: null, since: null, restarts: null } as const;

/** `containers` null: the host does not answer. */
function serving(plan: DockerPlan, name: string, containers: readonly FoundContainer[] | null): Serving {
  if (containers === null) return { ...NOTHING, state: "unknown" };
  const container = containers.find((one) => one.name === name && one.stack === plan.stack);
  if (!container) return { ...NOTHING, state: "missing" };
  const { image, version, since, restarts } = container;
  const what = name === stackNames(plan.stack).postgres ? "database" : "node";
  const reason = reasonOf(container, memorySetting("docker", what));
  return {
    state: stateOf(container),
    health: healthOf(container),
    image,
    version,
    since,
    restarts,
    ...(reason === null ? {} : { reason }),
  };
}

function partsAt(plan: DockerPlan, place: string, host: HostInventory | null): ObservedPart[] {
  const names = stackNames(plan.stack);
  const database =
    plan.postgres === null || place !== plan.host
      ? []
      : [
          {
            kind: "database",
            name: names.postgres,
            place,
            node: null,
            reason: null,
            ...serving(plan, names.postgres, host?.containers ?? null),
          } as const,
        ];
  const files = atPlace(containerNames(plan), place).filter(({ name }) => name.endsWith(".files"));
  return [
    ...database,
    thing("network", { name: plan.network, place }, null, host?.networks),
    ...atPlace(dataNames(plan), place).map((one) => thing("volume", one, nodeOf(plan, one.name), host?.volumes)),
    ...files.map((one) => thing("files", one, nodeOf(plan, one.name), host?.containers)),
  ];
}

/** `all` undefined: the host does not answer. */
function thing(
  kind: ObservedPart["kind"],
  { name, place }: { readonly name: string; readonly place: string },
  node: string | null,
  all: readonly Pick<FoundThing, "name" | "since">[] | undefined,
): ObservedPart {
  const found = all?.find((one) => one.name === name);
  const state = found ? "present" : all === undefined ? "unknown" : "missing";
  const since = found?.since ?? null;
  return {
    kind,
    name,
    place,
    node,
    state,
    health: null,
    image: null,
    version: null,
    since,
    restarts: null,
    reason: null,
  };
}

function stateOf({ status }: FoundContainer): ObservedNode["state"] {
  return status === "running" || status === "paused" ? status : "stopped";
}

/** Of a container that does not run Docker repeats the last answer: it says nothing about now. */
function healthOf({ status, health }: FoundContainer): ObservedNode["health"] {
  if (status === "restarting") return "unhealthy";
  if (status !== "running") return "unknown";
  return health === "healthy" || health === "starting" || health === "unhealthy" ? health : "unknown";
}

/** Characters of what a health check said. */
const LONGEST_REASON = 200;

/** Null while nothing is wrong, or nothing is known of it. */
function reasonOf({ status, health, end, probed, restarts, settings }: FoundContainer, setting: string): string | null {
  if (status === "running" && health === "unhealthy" && probed !== null) {
    return `its health check says: ${(probed.split("\n").at(-1) ?? "").slice(0, LONGEST_REASON)}`;
  }
  if (end === null) return null;
  const isRestarted = status === "restarting" || isCrashLoop(restarts);
  return endWords(end, isRestarted, { bytes: settings.memory || null, setting });
}
