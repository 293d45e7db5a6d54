/** What was changed on the target behind the stack's back: found before anything is planned, and brought back by the same `up`. */

import type { TargetDriver } from "../driver.ts";
import { type ExportedState, forget, outdate, resourcesOf, unreadImages } from "../engine/checkpoint.ts";
import type { Drift, Inspection } from "../inspection.ts";
import type { Diff, FoundDrift } from "../schemas.ts";
import type { Session } from "./session.ts";

/** How the engine is to plan, given what was found. */
export interface Planning {
  /** The state as it would be had the engine looked itself; undefined where it is as recorded. */
  readonly assuming?: ExportedState;
  /** URNs that are made anew although nothing of theirs has changed. */
  readonly replace: readonly string[];
  /** Whether the engine looks itself before it plans. */
  readonly refresh: boolean;
}

/** Empty where nothing is deployed. */
export async function inspectDeployed({ driver, run }: Session, state: ExportedState | null): Promise<Inspection> {
  const recorded = resourcesOf(state);
  return recorded.length === 0 ? { nodes: [], parts: [], drift: [] } : driver.inspect(recorded, run.signal);
}

/** A run for one node brings back what is its own, and what all share. */
export function ofNodes(drift: readonly Drift[], nodes: readonly string[]): readonly Drift[] {
  return drift.filter(({ node }) => node === null || nodes.includes(node));
}

/** `former`: URNs of what stays on the target and is the stack's no more. */
export function planningFor(
  state: ExportedState | null,
  drift: readonly Drift[],
  { readsSettings }: Pick<TargetDriver, "readsSettings">,
  former: ReadonlySet<string> = new Set(),
): Planning {
  const gone = new Set([...drift.flatMap((one) => one.forget), ...former, ...unreadImages(state)]);
  const again = new Set(drift.flatMap((one) => one.rerun));
  const edited = state !== null && gone.size + again.size > 0 ? outdate(forget(state, gone), again) : null;
  const replace = drift.flatMap((one) => one.replace).filter((urn) => !gone.has(urn));
  return {
    ...(edited === null ? {} : { assuming: edited }),
    replace: [...new Set(replace)],
    refresh: readsSettings && state !== null,
  };
}

/** After the consent: the repairs, and the state as the engine is to find it. */
export async function bringBack(
  session: Session,
  { drift, planning }: { readonly drift: readonly Drift[]; readonly planning: Planning },
  diff: Diff,
): Promise<void> {
  await repair(session, drift, diff);
  if (planning.assuming !== undefined) await session.engine.replaceState(planning.assuming);
}

/** Does what the engine cannot: the repairs of what it will not make anew by `diff`, what all share first. */
export async function repair(
  { report, run }: Session,
  drift: readonly Drift[],
  diff: Pick<Diff, "changes"> = { changes: [] },
): Promise<void> {
  const made = new Set(diff.changes.filter(({ op }) => op === "replace").map(({ name }) => name));
  for (const one of drift) {
    if (one.repair === null || (made.has(one.name) && (one.kind === "stopped" || one.kind === "paused"))) continue;
    report(`${one.message} ${one.remedy}`);
    await one.repair(report, run.signal);
  }
}

/** Nodes that run and are of no use: to stop them takes nothing from anybody. */
export function brokenNodes(drift: readonly Drift[]): ReadonlySet<string> {
  return new Set(drift.flatMap(({ node, replace }) => (node !== null && replace.length > 0 ? [node] : [])));
}

/** As it is shown and printed. */
export function shownDrift(drift: readonly Drift[]): FoundDrift[] {
  return drift.map(({ kind, name, place, node, message, remedy, dataLost }) => {
    return { kind, name, place, node, message, remedy, data_lost: dataLost };
  });
}
