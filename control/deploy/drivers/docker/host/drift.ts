/**
 * What differs on Docker hosts from what the state records, and how it comes back. Pure but for the repairs, which run later. What
 * Docker can change while a container lives is few: its name, its networks, its limits, and whether it runs.
 */

import { hostSlug } from "../../../../../infra/components/docker/address.ts";
import { stackNames } from "../../../../../infra/plan/names.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import type { RecordedResource } from "../../../engine/checkpoint.ts";
import { parseUrn } from "../../../engine/urn.ts";
import type { Drift } from "../../../inspection.ts";
import type { FoundContainer } from "./found-container.ts";
import type { FoundThing } from "./inventory.ts";
import { atPlace, containerNames, dataNames } from "./names.ts";
import { rename, replaceNetwork, restoreLimits, setAside, start, unpause } from "./repairs.ts";
import { changedSettings, recordedSettings } from "./settings.ts";

export interface HostInventory {
  readonly place: string;
  /** Those under the plan's names, and those with an id that the state records. */
  readonly containers: readonly FoundContainer[];
  readonly networks: readonly FoundThing[];
  readonly volumes: readonly FoundThing[];
}

const CONTAINER = "docker:index/container:Container";
const NETWORK = "docker:index/network:Network";
const VOLUME = "docker:index/volume:Volume";

interface Context {
  readonly plan: DockerPlan;
  readonly host: HostInventory;
  readonly recorded: readonly RecordedResource[];
  /** Of the stack's network as the state records it and as it is there; null where it has to be made. */
  readonly network: string | null;
}

/** Of one host, in the order in which it is repaired: network, volumes, the database, nodes. */
export function driftAt(plan: DockerPlan, recorded: readonly RecordedResource[], host: HostInventory): Drift[] {
  const { place } = host;
  const slug = hostSlug(place);
  const network = recorded.find(({ type, urn }) => type === NETWORK && parseUrn(urn).name === `network-${slug}`);
  const found = host.networks.find(({ name }) => name === plan.network) ?? null;
  const context = { plan, host, recorded, network: found !== null && found.id === network?.id ? found.id : null };
  const volumes = recorded.filter(({ type, name, urn }) => {
    const own = [name, `${name}-${slug}`].includes(parseUrn(urn).name);
    return type === VOLUME && own && atPlace(dataNames(plan), place).some((data) => data.name === name);
  });
  const containers = recorded.filter(({ type, name }) => {
    return type === CONTAINER && atPlace(containerNames(plan), place).some((planned) => planned.name === name);
  });
  return [
    ...(network === undefined ? [] : networkDrift(context, network, found)),
    ...volumes.flatMap((one) => volumeDrift(context, one)),
    ...containers.flatMap((one) => containerDrift(context, one)),
  ].sort((a, b) => Number(a.node !== null) - Number(b.node !== null));
}

function networkDrift({ plan, host }: Context, network: RecordedResource, found: FoundThing | null): Drift[] {
  if (found?.id === network.id) return [];
  const what = `The network ${plan.network}`;
  const drift = { ...DRIFT, name: plan.network, place: host.place, node: null, forget: [network.urn] };
  if (found === null) {
    return [{ ...drift, kind: "missing", message: `${what} is gone.`, remedy: "It is made anew." }];
  }
  return [
    {
      ...drift,
      kind: "replaced",
      message: `${what} was replaced by another one.`,
      remedy: "The other one is removed, and it is made anew.",
      repair: (_report, signal) => replaceNetwork(found, plan.stack, host.place, signal),
    },
  ];
}

function volumeDrift({ plan, host }: Context, volume: RecordedResource): Drift[] {
  if (host.volumes.some(({ name }) => name === volume.name)) return [];
  return [
    {
      ...DRIFT,
      kind: "missing",
      name: volume.name,
      place: host.place,
      node: nodeOf(plan, volume.name),
      message: `The volume ${volume.name} is gone, and the data in it.`,
      remedy: "It is made anew, empty.",
      dataLost: true,
      forget: [volume.urn],
    },
  ];
}

function containerDrift(context: Context, recorded: RecordedResource): Drift[] {
  const { plan, host } = context;
  const { name, id, urn } = recorded;
  const found = host.containers.find((one) => one.id === id);
  const other = host.containers.find((one) => one.name === name && one.id !== id);
  const common = { ...DRIFT, name, place: host.place, node: nodeOf(plan, name) };
  const what = `The container ${name}`;
  if (found === undefined && other === undefined) {
    return [{ ...common, kind: "missing", message: `${what} is gone.`, remedy: "It is made anew.", forget: [urn] }];
  }
  if (found === undefined && other !== undefined) {
    return [
      {
        ...common,
        kind: "replaced",
        message: `${what} was replaced by another one.`,
        remedy:
          other.stack === plan.stack
            ? "The other one is removed, and it is made anew."
            : "The other one is stopped and kept under another name, and it is made anew.",
        forget: [urn],
        repair: (report, signal) => setAside(other, plan.stack, host.place, report, signal),
      },
    ];
  }
  if (found === undefined) return [];
  const renamed: Drift[] =
    found.name === name
      ? []
      : [
          {
            ...common,
            kind: "renamed",
            message: `${what} was renamed to ${found.name}.`,
            remedy: "It gets its name back.",
            repair: async (report, signal) => {
              if (other !== undefined) await setAside(other, plan.stack, host.place, report, signal);
              await rename(found.id, name, host.place, signal);
            },
          },
        ];
  return [...renamed, ...stateDrift(context, recorded, found, common)];
}

/** Of a container that is still the one that was made. */
function stateDrift(
  { plan, host, network, recorded: all }: Context,
  recorded: RecordedResource,
  found: FoundContainer,
  common: typeof DRIFT & Pick<Drift, "name" | "place" | "node">,
): Drift[] {
  const { name, urn } = recorded;
  const { place } = host;
  // One that lends its files never runs.
  if (recorded.inputs["start"] === false) return [];
  const what = `The container ${name}`;
  if (network === null || found.networks[plan.network] !== network || found.status === "dead") {
    const message = found.status === "dead" ? `${what} is dead.` : `${what} is not on its network.`;
    return [{ ...common, kind: "changed", message, remedy: "It is made anew.", replace: [urn] }];
  }
  const settings = recordedSettings(recorded, all);
  const changed = changedSettings(settings, found.settings);
  const limits: Drift[] =
    changed.words.length === 0
      ? []
      : [
          {
            ...common,
            kind: "changed",
            message: `${what} has other limits than it was given: ${changed.words.join(", ")}.`,
            remedy: changed.removable ? "It gets its own back." : "It is made anew.",
            ...(changed.removable
              ? { repair: (_report, signal) => restoreLimits(found.id, settings, place, signal) }
              : { replace: [urn] }),
          },
        ];
  if (found.status === "paused") {
    const repair: Drift["repair"] = (_report, signal) => unpause(found.id, place, signal);
    return [...limits, { ...common, kind: "paused", message: `${what} is paused.`, remedy: "It goes on.", repair }];
  }
  if (found.status === "running" || found.status === "restarting" || found.status === "removing") return limits;
  const repair: Drift["repair"] = (_report, signal) => start(found.id, place, signal);
  return [...limits, { ...common, kind: "stopped", message: `${what} is stopped.`, remedy: "It is started.", repair }];
}

const DRIFT = { dataLost: false, forget: [], replace: [], rerun: [], repair: null } as const satisfies Partial<Drift>;

/** Node that a container or volume of the plan belongs to; null for what all share. */
export function nodeOf(plan: DockerPlan, thing: string): string | null {
  const names = stackNames(plan.stack);
  const node = plan.nodes.find(({ name }) => {
    const workload = names.node(name);
    return [workload, `${workload}.files`, names.home(name), names.workspace(name)].includes(thing);
  });
  return node?.name ?? null;
}
