/**
 * `update --mesh` of nodes that were set up by hand: the archive is on every machine before the first node stops, and each takes it by
 * its unit. Lease and journal are in the database that they share.
 */

import { randomUUID } from "node:crypto";
import type { MeshNode } from "../../../runtime/client/index.ts";
import { CairnError } from "../../../runtime/contracts/errors.ts";
import type { NodeObservation } from "../../rollout/contracts.ts";
import { isUnreachable } from "../../rollout/driven-node.ts";
import { createElapsedClock } from "../../rollout/elapsed.ts";
import type { FleetEnd } from "../../rollout/fleet.ts";
import { holderOf, openJournal, patient, refuseOptions } from "../../rollout/open-fleet.ts";
import { beginRollout, type RolloutPorts, resumeRollout } from "../../rollout/rollout.ts";
import { collecting, historyOf, MOST, problemOf, STEPS } from "../fleet-report.ts";
import { plannedRelease } from "../planned-release.ts";
import type { UpdateHistory, UpdatePlan, UpdateResult } from "../result.ts";
import type { MeshOptions } from "../update-deployed.ts";
import { refuseSkewAmong } from "../version-skew.ts";
import { type FleetInput, type ManualFleet, requireShared, snapshotAll, withManualFleet } from "./fleet.ts";
import { type ProgramRequest, withProgram } from "./program.ts";
import { versionOfImage } from "./snapshot.ts";

export interface ManualUpdate extends FleetInput, Pick<ProgramRequest, "root" | "version" | "prebuilt" | "checksum"> {
  readonly mesh: MeshOptions;
}

/** Errors of the preparation, with nothing changed; INFRA_LOCKED, and errors of `beginRollout`: then it can be resumed. */
export function updateManualFleet(update: ManualUpdate): Promise<UpdateResult> {
  const { run, mesh, report } = update;
  const { signal } = run;
  return withManualFleet(update, async (fleet) => {
    refuseOptions(namesOf(fleet), mesh);
    // A rollout that goes on says itself which nodes it does not reach.
    const found = await snapshotAll(
      fleet.nodes,
      signal,
      mesh.resume ? (_node, error) => isUnreachable(error) : undefined,
    );
    const members = await requireShared(found, signal);
    const { interrupted } = await openJournal(fleet.database, mesh, await holding(run), signal);
    const from = versionsOf(found.map(({ snapshot }) => snapshot.image));
    const ports = portsOf(update, fleet, members);
    const holder = holderOf(await run.services.identity());
    if (interrupted !== null) {
      report(`Going on with the rollout of ${interrupted.startedAt}`);
      const former = versionsOf(interrupted.from.map(({ image }) => image));
      return resultOf(await resumeRollout(ports, holder, signal), former, interrupted.to);
    }
    return withProgram({ ...update, signal }, async (program) => {
      refuseSkewAmong(versionOfImage(program.image), members);
      // Refused before anything stops: it is there everywhere, or nowhere is it used.
      for (const node of fleet.nodes) await node.stage(program, signal);
      const { onFailure, maxUnavailable } = mesh;
      const request = { id: randomUUID(), holder, to: program.image, onFailure, maxUnavailable };
      return resultOf(await beginRollout(ports, request, signal), from, program.image);
    });
  });
}

async function holding({ services }: ManualUpdate["run"]) {
  return { holder: holderOf(await services.identity()), sleep: services.sleep };
}

function namesOf({ nodes }: ManualFleet): string[] {
  return nodes.map(({ name }) => name);
}

function portsOf({ run, mesh }: ManualUpdate, fleet: ManualFleet, members: readonly MeshNode[]): RolloutPorts {
  const { now, sleep } = run.services;
  const { lease } = fleet.database;
  return {
    clock: { now, monotonic: createElapsedClock(), sleep },
    lease: mesh.resume ? patient(lease, sleep) : lease,
    journal: fleet.database.journal,
    nodes: inOrder(fleet, members, mesh.canary),
  };
}

/** The canary, then those of the fewest agents first. What does not serve comes before them by itself. */
function inOrder({ nodes }: ManualFleet, members: readonly MeshNode[], canary: string | undefined) {
  const hosted = (name: string): number => members.find((member) => member.name === name)?.hosts.length ?? 0;
  const first = (name: string): number => (name === canary ? 0 : 1);
  return nodes.toSorted((a, b) => first(a.name) - first(b.name) || hosted(a.name) - hosted(b.name));
}

function versionsOf(images: readonly (string | null)[]): string {
  const versions = images.flatMap((image) => (image === null ? [] : [versionOfImage(image)]));
  return [...new Set(versions)].join(", ") || "none";
}

function resultOf(end: FleetEnd, from: string, image: string): UpdateResult {
  const { outcome, done, reason } = end;
  const said = { schema: 1, target: "manual", from, to: versionOfImage(image), reason: null, next: null } as const;
  if (outcome === "passed") {
    return done.length > 0
      ? { ...said, outcome: "updated", restarted: true }
      : { ...said, outcome: "unchanged", restarted: false };
  }
  const next = "See `cairn logs` on the machine of the node, and `cairn update --mesh --history`.";
  const failed = { ...said, restarted: true, reason, next };
  if (outcome === "rolled_back") return { ...failed, outcome };
  if (outcome === "paused") {
    const again = "Mend what failed, and run the same command again: nodes that have the version are left alone.";
    return { ...failed, outcome, next: again };
  }
  const stuck = end.stuck.map(({ node, back }) => `${node}: ${back ?? "nothing is known of what it had before"}`);
  return { ...failed, outcome, reason: `${reason} Going back failed, too: ${stuck.join("; ")}` };
}

/** What a rollout would do. Changes nothing, and builds nothing. */
export function planManualFleet(update: ManualUpdate): Promise<UpdatePlan> {
  const { run, mesh, prebuilt } = update;
  const { signal } = run;
  return withManualFleet(update, async (fleet) => {
    const problems: string[] = [];
    const trying = collecting(problems, signal);
    refuseOptions(namesOf(fleet), mesh);
    // Of these it is not known whether they serve: why is said already.
    const refused = new Set<string>();
    const found = await trying(() =>
      snapshotAll(fleet.nodes, signal, (node, error) => {
        if (!(error instanceof CairnError)) return false;
        refused.add(node);
        problems.push(problemOf(error, node));
        return true;
      }),
    );
    const members = found === null || found.length === 0 ? null : await trying(() => requireShared(found, signal));
    const opened =
      members === null || members.length === 0
        ? null
        : await trying(async () => openJournal(fleet.database, mesh, await holding(run), signal));
    const to =
      opened?.interrupted?.to ??
      (prebuilt === undefined
        ? null
        : await trying(() => withProgram({ ...update, signal }, async ({ image }) => image)));
    const asked = opened?.interrupted?.to ?? prebuilt;
    const planned = asked === undefined ? await trying(() => plannedRelease({ ...update, signal })) : null;
    const version = to === null ? planned : versionOfImage(to);
    if (version !== null && members !== null) await trying(async () => refuseSkewAmong(version, members));
    const nothing: NodeObservation = { image: null, version: null, ready: false, instance: "" };
    const seen = await Promise.all(
      inOrder(fleet, members ?? [], mesh.canary).map(async (node) => {
        const { image, version, ready } = await node.observe(signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (!isUnreachable(error) && !(error instanceof CairnError)) throw error;
          return nothing;
        });
        return { name: node.name, image, version, ready, steps: image === to && ready ? [] : STEPS };
      }),
    );
    for (const { name, ready } of seen) if (!ready && !refused.has(name)) problems.push(`${name} does not serve.`);
    const nodes = [...seen.filter(({ ready }) => !ready), ...seen.filter(({ ready }) => ready)];
    return { schema: 1, outcome: "planned", target: "manual", to: version, nodes, problems };
  });
}

export function readManualHistory(input: FleetInput): Promise<UpdateHistory> {
  return withManualFleet(input, async ({ database }) => historyOf(await database.history(MOST, input.run.signal)));
}
