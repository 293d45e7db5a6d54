/** Every part of a plan as it is on the Proxmox host, and what differs from what the state records. */

import { nodeCt, postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import { ownerOf } from "../../../../infra/components/proxmox/ct-config.ts";
import { imageOfName } from "../../../../infra/components/proxmox/docker-scripts.ts";
import { DATABASE_NAME, stackNames } from "../../../../infra/plan/names.ts";
import { CONTAINER, POSTGRES, type ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { endWords, memorySetting } from "../../end-words.ts";
import type { RecordedResource } from "../../engine/checkpoint.ts";
import type { Inspection, ObservedNode, ObservedPart } from "../../inspection.ts";
import { driftOf } from "./host/drift.ts";
import { type FoundCt, findCts, type WantedCt } from "./host/found-ct.ts";
import { placeOf } from "./host/host.ts";

/** Null where the host does not answer: its nodes are unknown, which is not the same as gone. */
type Found = ReadonlyMap<number, FoundCt> | null;

export async function observe(plan: ProxmoxPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  return nodesIn(plan, await findOrUnknown(plan, wantedNodes(plan), signal));
}

export async function inspect(
  plan: ProxmoxPlan,
  recorded: readonly RecordedResource[],
  signal: AbortSignal,
): Promise<Inspection> {
  const database = wantedDatabase(plan);
  const wanted = [...database, ...wantedNodes(plan)];
  const found = await findOrUnknown(plan, wanted, signal);
  const drift = wanted.flatMap((one) => {
    const ct = found?.get(one.ct.vmid);
    return ct === undefined ? [] : driftOf(plan, one, ct, recorded);
  });
  return {
    nodes: nodesIn(plan, found),
    parts: [
      ...database.map((one) => databaseIn(plan, one, found)),
      ...unique(wanted.flatMap((one) => volumesIn(plan, one, found))),
    ],
    // A directory that several CTs share is missed by each of them.
    drift: drift.filter(
      (one, index) => one.kind !== "missing" || drift.findIndex((other) => same(one, other)) === index,
    ),
  };
}

function same(one: { name: string; place: string }, other: { name: string; place: string }): boolean {
  return one.name === other.name && one.place === other.place;
}

function unique(parts: readonly ObservedPart[]): ObservedPart[] {
  return parts.filter((one, index) => parts.findIndex((other) => same(one, other)) === index);
}

function wantedNodes(plan: ProxmoxPlan): WantedCt[] {
  const names = stackNames(plan.stack);
  return plan.nodes.map((node) => {
    return { name: names.node(node.name), ct: nodeCt(plan, node), configuration: CONTAINER.configuration };
  });
}

function wantedDatabase(plan: ProxmoxPlan): WantedCt[] {
  const ct = postgresCt(plan);
  return ct === null ? [] : [{ name: stackNames(plan.stack).postgres, ct, configuration: POSTGRES.configuration }];
}

async function findOrUnknown(plan: ProxmoxPlan, wanted: readonly WantedCt[], signal: AbortSignal): Promise<Found> {
  try {
    return await findCts(plan, wanted, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}

function nodesIn(plan: ProxmoxPlan, found: Found): ObservedNode[] {
  return plan.nodes.map((node) => {
    const common = { name: node.name, workload: String(node.vmid), place: placeOf(plan, node.pveNode) };
    return { ...common, ...serving(plan, node.name, found === null ? null : found.get(node.vmid)) };
  });
}

function databaseIn(plan: ProxmoxPlan, { name, ct }: WantedCt, found: Found): ObservedPart {
  const seen = serving(plan, ct.role, found === null ? null : found.get(ct.vmid));
  return { kind: "database", name, place: placeOf(plan, ct.member), node: null, reason: null, ...seen };
}

type Serving = Pick<ObservedNode, "state" | "health" | "image" | "version" | "since" | "restarts" | "reason">;

const NOTHING = { health: "unknown", image: null, version: null, since: null, restarts: null } as const;

/** `ct` null: the host does not answer. */
function serving(plan: ProxmoxPlan, role: string, ct: FoundCt | null | undefined): Serving {
  if (ct === null) return { ...NOTHING, state: "unknown" };
  const owner = ct?.config ? ownerOf(ct.config) : null;
  if (!ct || owner?.stack !== plan.stack || owner.role !== role) return { ...NOTHING, state: "missing" };
  if (!ct.running) return { ...NOTHING, state: "stopped", reason: "its CT is stopped" };
  const { container } = ct;
  if (container === null) return { ...NOTHING, state: "stopped", reason: "its container is not in the CT" };
  const { status, health } = container;
  const isDatabase = role === DATABASE_NAME;
  const { limits } = (isDatabase ? plan.postgres : plan.nodes.find(({ name }) => name === role)) ?? {};
  const limit = {
    bytes: limits?.memoryBytes ?? null,
    setting: memorySetting("proxmox", isDatabase ? "database" : "node"),
  };
  const reason =
    status === "restarting" || status === "exited" ? endWords(container, status === "restarting", limit) : undefined;
  return {
    state: status === "running" || status === "paused" ? status : "stopped",
    health: status === "running" ? healthOf(health) : status === "restarting" ? "unhealthy" : "unknown",
    image: imageOfName(container.image),
    version: container.version || null,
    since: container.since || null,
    restarts: container.restarts,
    ...(reason === undefined ? {} : { reason }),
  };
}

function healthOf(health: string): ObservedNode["health"] {
  return health === "healthy" || health === "starting" || health === "unhealthy" ? health : "unknown";
}

function volumesIn(plan: ProxmoxPlan, { ct }: WantedCt, found: Found): ObservedPart[] {
  const seen = found?.get(ct.vmid);
  return ct.directories.map(({ name, path }) => ({
    kind: "volume",
    name,
    place: `${placeOf(plan, ct.member)}:${path}`,
    node:
      plan.nodes.find((node) => node.name === ct.role && !name.startsWith(stackNames(plan.stack).shared))?.name ?? null,
    state: seen === undefined ? "unknown" : seen.missing.includes(path) ? "missing" : "present",
    health: null,
    image: null,
    version: null,
    since: null,
    restarts: null,
    reason: null,
  }));
}
