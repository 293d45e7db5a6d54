/**
 * What differs on a Proxmox host from what the state records, and how it comes back. Pure but for the repairs. The scripts of the
 * target can all be repeated, so that what exists and is not as it should be has its script run once more.
 */

import { type CtSpec, ctHash } from "../../../../../infra/components/proxmox/ct.ts";
import { compareCt, ownerOf } from "../../../../../infra/components/proxmox/ct-config.ts";
import { PRELUDE, script } from "../../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import type { RecordedResource } from "../../../engine/checkpoint.ts";
import { parseUrn } from "../../../engine/urn.ts";
import type { Drift } from "../../../inspection.ts";
import type { FoundCt, WantedCt } from "./found-ct.ts";
import { placeOf, withHost } from "./host.ts";

interface Context {
  readonly plan: ProxmoxPlan;
  readonly wanted: WantedCt;
  readonly found: FoundCt;
  /** What the state records, by the resource's name in the program. */
  readonly recorded: ReadonlyMap<string, RecordedResource>;
}

const NOTHING = { dataLost: false, forget: [], replace: [], rerun: [], repair: null } as const satisfies Partial<Drift>;

/** Of one CT. Empty where nothing of it is recorded. */
export function driftOf(
  plan: ProxmoxPlan,
  wanted: WantedCt,
  found: FoundCt,
  all: readonly RecordedResource[],
): Drift[] {
  const recorded = new Map(all.map((one) => [parseUrn(one.urn).name, one]));
  const context = { plan, wanted, found, recorded };
  const gone = directoryDrift(context);
  const own = recorded.has(`${wanted.name}-ct`) ? [...ctDrift(context)] : [];
  return [...gone, ...own];
}

function directoryDrift({ plan, wanted: { ct }, found, recorded }: Context): Drift[] {
  return ct.directories
    .filter(({ name, path }) => found.missing.includes(path) && recorded.has(name))
    .map(({ name, path }) => ({
      ...NOTHING,
      kind: "missing",
      name,
      place: placeOf(plan, ct.member),
      node: nodeOf(ct),
      message: `The directory ${path} is gone, and the data in it.`,
      remedy: "It is made anew, empty.",
      dataLost: true,
      forget: urnsOf(recorded, [name]),
      // What runs holds the directory that was removed: it finds the new one when it starts.
      repair: found.running ? (_report, signal) => stopCt(plan, ct, signal) : null,
    }));
}

function ctDrift({ plan, wanted, found, recorded }: Context): Drift[] {
  const { name, ct } = wanted;
  const common = { ...NOTHING, place: placeOf(plan, ct.member), node: nodeOf(ct) };
  const whole = ["-ct", "-docker", "-image", "-container"].map((suffix) => `${name}${suffix}`);
  const ofCt = { ...common, name: String(ct.vmid) };
  if (found.config === null) {
    const message = `The CT ${ct.vmid} is gone.`;
    return [{ ...ofCt, kind: "missing", message, remedy: "It is made anew.", forget: urnsOf(recorded, whole) }];
  }
  const owner = ownerOf(found.config);
  if (owner?.stack !== ct.stack || owner.role !== ct.role) {
    return [
      {
        ...ofCt,
        kind: "replaced",
        message: `The CT ${ct.vmid} is another one.`,
        remedy: "It is left alone, and `up` refuses to go on: remove it, or choose another vmid.",
        rerun: urnsOf(recorded, [`${name}-ct`]),
      },
    ];
  }
  if (!found.running || found.missing.length > 0) {
    const message = `The CT ${ct.vmid} is stopped.`;
    const rerun = urnsOf(recorded, whole);
    return found.running
      ? [
          {
            ...ofCt,
            kind: "changed",
            message: `The CT ${ct.vmid} has lost a directory.`,
            remedy: "It is started again.",
            rerun,
          },
        ]
      : [{ ...ofCt, kind: "stopped", message, remedy: "It is started.", rerun }];
  }
  // What differs because the plan has moved on is no drift: the graph shows it.
  const changed = found.applied === ctHash(ct) ? compareCt(ct, found.config) : [];
  const words = changed.map(
    ({ setting, expected, observed }) => `${setting} is ${observed ?? "not set"} instead of ${expected ?? "not set"}`,
  );
  const settings: Drift[] =
    words.length === 0
      ? []
      : [
          {
            ...ofCt,
            kind: "changed",
            message: `The CT ${ct.vmid} has other settings than it was given: ${words.join(", ")}.`,
            remedy: "It gets its own back.",
            rerun: urnsOf(recorded, [`${name}-ct`]),
          },
        ];
  const inside = insideDrift(wanted, found, recorded);
  return inside === null ? settings : [...settings, { ...common, ...inside, name }];
}

type Inside = Pick<Drift, "kind" | "message" | "remedy" | "rerun" | "forget">;

/** What is wrong with the container in the CT: the first thing that says all. */
function insideDrift(
  { name, ct }: WantedCt,
  found: FoundCt,
  recorded: ReadonlyMap<string, RecordedResource>,
): Inside | null {
  const again = urnsOf(recorded, [`${name}-container`]);
  // Nothing was to run in it yet.
  if (again.length === 0) return null;
  const made = { forget: again, rerun: urnsOf(recorded, [`${name}-image`]) };
  const { container } = found;
  if (!found.docker) {
    const rerun = urnsOf(recorded, [`${name}-docker`, `${name}-image`, `${name}-container`]);
    return {
      kind: "stopped",
      message: `Docker in the CT ${ct.vmid} does not answer.`,
      remedy: "It is started.",
      forget: [],
      rerun,
    };
  }
  const what = `The container ${name} in the CT ${ct.vmid}`;
  const [other] = found.others;
  if (container === null && other !== undefined) {
    return {
      kind: "renamed",
      message: `${what} was renamed to ${other}.`,
      remedy: "It is made anew under its name.",
      ...made,
    };
  }
  if (container === null) return { kind: "missing", message: `${what} is gone.`, remedy: "It is made anew.", ...made };
  const rerun = { forget: [], rerun: again };
  if (found.unfinished) {
    const remedy = "It is made as it should be.";
    return { kind: "unfinished", message: `The last change of ${lower(what)} failed half way.`, remedy, ...rerun };
  }
  const { status, spec } = container;
  if (spec === "" || !recordedText(recorded, `${name}-container`).includes(spec)) {
    return { kind: "replaced", message: `${what} was replaced by another one.`, remedy: "It is made anew.", ...rerun };
  }
  if (status === "paused") return { kind: "paused", message: `${what} is paused.`, remedy: "It goes on.", ...rerun };
  if (status !== "running" && status !== "restarting") {
    return { kind: "stopped", message: `${what} is stopped.`, remedy: "It is started.", ...rerun };
  }
  if (found.filesIntact === false) {
    return {
      kind: "changed",
      message: `The files of ${lower(what)} were changed.`,
      remedy: "It gets its own back.",
      ...rerun,
    };
  }
  return null;
}

function lower(what: string): string {
  return `t${what.slice(1)}`;
}

/** The command as it was applied: the hash of the container's arguments is a word of it. */
function recordedText(recorded: ReadonlyMap<string, RecordedResource>, name: string): string {
  const text = recorded.get(name)?.inputs["create"];
  return typeof text === "string" ? text : "";
}

function urnsOf(recorded: ReadonlyMap<string, RecordedResource>, names: readonly string[]): string[] {
  return names.flatMap((name) => recorded.get(name)?.urn ?? []);
}

/** Null for the database. */
function nodeOf({ role }: CtSpec): string | null {
  return role === "postgres" ? null : role;
}

async function stopCt(plan: ProxmoxPlan, ct: CtSpec, signal: AbortSignal): Promise<void> {
  const timeoutMs = (ct.stopTimeoutS + 60) * 1_000;
  const argv = script(STOP, [String(ct.vmid), String(ct.stopTimeoutS + 10)]);
  await withHost(plan, signal, async (host) => void (await host.run({ member: ct.member, argv, timeoutMs })));
}

const STOP = `${PRELUDE}
[ "$(pct status "$1")" = 'status: running' ] || exit 0
pct shutdown "$1" --timeout "$2" --forceStop 1 >&2
`;
