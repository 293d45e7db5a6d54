/** `infra status`: every part of the stack as it is now. Asks the target, and reads only the state from the engine. */

import { isAlive } from "../../service/processes.ts";
import { type ExportedState, pendingOf, resourcesOf } from "../engine/checkpoint.ts";
import type { EngineLock } from "../engine/engine.ts";
import type { Inspection, ObservedNode, ObservedPart } from "../inspection.ts";
import type { Holder, StackRecord, StatusResult } from "../schemas.ts";
import { listCopies } from "../state/copies.ts";
import { type Identity, inspectLock, type LockState, publicHolder } from "../state/operator-lock.ts";
import { shownBackend } from "./backend.ts";
import { readUpgrade } from "./postgres/upgrade-journal.ts";
import { readRecord } from "./record.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import { openSession } from "./session.ts";

export async function status(run: OperationInput): Promise<StatusResult> {
  const session = await openSession(run);
  const { project, files, driver, engine } = session;
  const { plan } = project;
  const identity = await run.services.identity();
  const [state, record, lock, locks, copies] = await Promise.all([
    session.state(),
    readRecord(run.dir),
    inspectLock(files.lock, identity),
    engine.locks(),
    listCopies(files),
  ]);
  const recorded = resourcesOf(state);
  const deployed = recorded.some((one) => !one.protected);
  const [{ nodes, parts, drift }, former = []] = await Promise.all([
    recorded.length === 0 ? { nodes: [], parts: [], drift: [] } : driver.inspect(recorded, run.signal),
    // While an upgrade is under way they may be the data that it switches to.
    recorded.length === 0 || (await readUpgrade(files)) !== null ? [] : driver.formerData?.(run.signal),
  ]);
  const shown = deployed ? parts : parts.filter(({ kind, state: now }) => kind === "volume" && now !== "missing");
  const reasons = new Map(drift.map(({ name, message }) => [name, message]));
  // A container in a CT is no part of its own: what is wrong with it is wrong with its node.
  const ofNodes = new Map(
    drift.flatMap(({ name, node, message }) =>
      node === null || parts.some((part) => part.name === name) ? [] : [[node, message] as const],
    ),
  );
  return {
    schema: 1,
    stack: plan.stack,
    target: plan.target,
    deployed,
    deployed_at: deployed ? (record?.deployed_at ?? null) : null,
    backend: shownBackend(engine.backend),
    healthy: deployed && drift.length === 0 && nodes.every(({ health }) => health === "healthy") && parts.every(isWell),
    nodes: plan.nodes.map((node) => {
      const seen = deployed ? nodes.find(({ name }) => name === node.name) : undefined;
      return nodeStatus(node, { seen, record, deployed, stack: plan.stack, reason: ofNodes.get(node.name) });
    }),
    parts: shown.map((one) => ({ ...one, reason: one.reason ?? reasons.get(one.name) ?? null })),
    data: dataOf(state, record),
    former: former.map(({ name, place, removal }) => ({ name, place, removal })),
    ...holderOf(lock, locks, identity),
    pending: pendingOf(state).length,
    copies: copies.length,
  };
}

/** There, and healthy where it runs. */
function isWell({ state, health }: ObservedPart): boolean {
  return state === "present" || (state === "running" && health === "healthy");
}

interface NodeSurroundings {
  readonly seen: Inspection["nodes"][number] | undefined;
  readonly record: StackRecord | null;
  readonly deployed: boolean;
  readonly stack: string;
  /** What was changed by hand. */
  readonly reason: string | undefined;
}

function nodeStatus(
  { name, image }: ReadProject["plan"]["nodes"][number],
  { seen, record, deployed, stack, reason }: NodeSurroundings,
): StatusResult["nodes"][number] {
  const recorded = record?.nodes.find((one) => one.name === name);
  const workload = recorded?.workload ?? seen?.workload ?? `${stack}-${name}`;
  const state: ObservedNode["state"] = seen?.state ?? (deployed ? "unknown" : "missing");
  return {
    name,
    workload,
    place: recorded?.place ?? seen?.place ?? "unknown",
    image: seen?.image ?? recorded?.image ?? "",
    url: recorded?.url ?? null,
    certificate_sha256: recorded?.certificate_sha256 ?? null,
    next_certificate_sha256: recorded?.next_certificate_sha256 ?? null,
    state,
    health: seen?.health ?? "unknown",
    version: seen?.version ?? null,
    since: seen?.since ?? null,
    restarts: seen?.restarts ?? null,
    reason: reason ?? seen?.reason ?? null,
    planned_image: image === null ? null : (image.digest ?? image.id ?? image.reference),
  };
}

function dataOf(state: ExportedState | null, record: StackRecord | null): StatusResult["data"] {
  return resourcesOf(state)
    .filter((one) => one.protected)
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name }) => ({ name, place: record?.data.find((one) => one.name === name)?.place ?? "unknown" }));
}

/** The engine's own lock counts where no command of ours holds the stack: a run by hand. */
function holderOf(
  lock: LockState,
  [engineLock]: readonly EngineLock[],
  { host }: Identity,
): Pick<StatusResult, "holder" | "working"> {
  if (lock.state !== "free" && lock.holder !== null) {
    return { holder: publicHolder(lock.holder), working: lock.state === "held" };
  }
  if (engineLock === undefined) return { holder: null, working: false };
  const { user, host: on, pid, started_at } = engineLock;
  const holder: Holder = { user, host: on, pid, started_at, command: "unknown" };
  return { holder, working: on === host && isAlive(pid) };
}
