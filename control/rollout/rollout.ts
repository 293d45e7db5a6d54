/**
 * A rollout of a fleet from its lease to its end. It is begun, or resumed from whatever machine: then the nodes say what runs, and the
 * journal only what was intended.
 */

import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type {
  FleetLease,
  NodeDriver,
  NodeObservation,
  RolloutClock,
  RolloutEntry,
  RolloutJournal,
} from "./contracts.ts";
import { type Commands, changeOf, fenceNode, isUnreachable, observeNode } from "./driven-node.ts";
import { type FleetEnd, rollFleet } from "./fleet.ts";
import { type FleetStep, type Found, foundIn, type OnFailure } from "./fleet-steps.ts";
import { Journal, type JournalStore } from "./journal.ts";
import { withLease } from "./lease.ts";
import type { NodeChange } from "./rollback.ts";

/** Milliseconds that nodes get which are out of service by themselves, before another one is taken out. */
const RECOVERY_MS = 120_000;
const POLL_MS = 5_000;

export interface RolloutPorts {
  readonly clock: RolloutClock;
  readonly lease: FleetLease;
  readonly journal: RolloutJournal;
  /** In the order in which they are to be changed: the first is the canary. */
  readonly nodes: readonly NodeDriver[];
  /** What is done under the lease, after every host is fenced and before the first node is changed; repeatable. */
  readonly shared?: () => Promise<void>;
}

export interface RolloutRequest {
  readonly id: string;
  /** Who holds the lease, as it is shown to others. */
  readonly holder: string;
  /** Identity of the image. */
  readonly to: string;
  readonly onFailure: OnFailure;
  /** At least 1. */
  readonly maxUnavailable: number;
}

type FleetJournal = Journal<FleetStep, RolloutEntry>;
type Observed = ReadonlyMap<string, NodeObservation>;

/**
 * INFRA_LOCKED: another one is at work; INFRA_INTERRUPTED: an earlier one has to be resumed first; INFRA_HOST_UNREACHABLE: a node is
 * away. Nothing was changed then. When it rejects later, with INFRA_LOCKED for a lost lease, or with INFRA_INTERRUPTED, it can be
 * resumed.
 */
export function beginRollout(ports: RolloutPorts, request: RolloutRequest, signal: AbortSignal): Promise<FleetEnd> {
  return withCommands(ports, request.holder, signal, async (commands) => {
    const last = await ports.journal.read(signal);
    if (last !== null && last.end === null) {
      throw new InfraError("INFRA_INTERRUPTED", `The rollout of ${last.startedAt} to ${last.to} was interrupted.`, {
        hint: "Resume it first.",
      });
    }
    const names = ports.nodes.map(({ name }) => name);
    const { observed, unreachable } = await fenceAndObserve(ports, commands, names);
    const [first] = unreachable;
    if (first !== undefined) throw first.error;
    const { id, holder, to, onFailure, maxUnavailable } = request;
    const from = notReadyFirst(names, observed).map((node) => ({ node, image: observed.get(node)?.image ?? null }));
    const startedAt = ports.clock.now().toISOString();
    const entry = { id, holder, to, from, onFailure, maxUnavailable, startedAt, steps: [], end: null };
    const journal = await Journal.begin<FleetStep, RolloutEntry>(
      storeOf(ports, commands),
      () => ports.clock.now(),
      entry,
    );
    // What the one before could not test, or could not take back, is not done because it runs.
    const untested = last?.end != null && last.to === to ? [...last.end.stuck, ...last.end.unknown] : [];
    return orInterrupted(commands, carryOut(ports, commands, journal, observed, untested));
  });
}

/** Errors of `beginRollout`; RUNTIME_NOT_FOUND where none was interrupted. */
export function resumeRollout(ports: RolloutPorts, holder: string, signal: AbortSignal): Promise<FleetEnd> {
  return withCommands(ports, holder, signal, async (commands) => {
    const entry = await ports.journal.read(signal);
    if (entry === null || entry.end !== null) {
      throw new RuntimeError("RUNTIME_NOT_FOUND", "No rollout was interrupted: there is nothing to resume.");
    }
    const journal = Journal.resume<FleetStep, RolloutEntry>(storeOf(ports, commands), () => ports.clock.now(), entry);
    const names = entry.from.map(({ node }) => node);
    const { observed, unreachable } = await fenceAndObserve(ports, commands, names);
    const end = endAtOnce(entry, observed, unreachable);
    return orInterrupted(commands, end === null ? carryOut(ports, commands, journal, observed) : close(journal, end));
  });
}

/** Where a node runs what the rollout has not put there, or is not reached: nothing is changed then. */
function endAtOnce(entry: RolloutEntry, observed: Observed, unreachable: readonly Unreachable[]): FleetEnd | null {
  const foreign = entry.from.find(({ node, image }) => {
    const found = observed.get(node)?.image ?? null;
    return found !== null && found !== image && found !== entry.to;
  });
  const unknown = [...new Set([...unreachable.map(({ node }) => node), ...foundIn(entry.steps).unsettled])];
  const changed = entry.from.filter((one) => isChanged(entry, one, observed)).map(({ node }) => node);
  const said = { done: changed.filter((node) => !unknown.includes(node)), cause: undefined };
  if (foreign !== undefined) {
    const { node, image } = foreign;
    const back = `it runs ${observed.get(node)?.image}, which is neither ${entry.to} nor ${image ?? "what it had"}`;
    const stuck = [{ node, back }];
    const others = unknown.filter((name) => name !== node);
    return { ...said, outcome: "operator", failed: node, reason: `${node}: ${back}.`, stuck, unknown: others };
  }
  const [first] = unreachable;
  if (first === undefined) return null;
  return { ...said, outcome: "paused", failed: first.node, reason: first.error.message, stuck: [], unknown };
}

function withCommands(
  { clock, lease }: RolloutPorts,
  holder: string,
  signal: AbortSignal,
  work: (commands: Commands) => Promise<FleetEnd>,
): Promise<FleetEnd> {
  return withLease({ clock, lease }, holder, signal, (held) =>
    work({ clock, lease: held, signal: AbortSignal.any([signal, held.signal]) }),
  );
}

/** Nodes may have changed by then, and the journal has no end: what failed is said with the way on. */
async function orInterrupted({ lease, signal }: Commands, work: Promise<FleetEnd>): Promise<FleetEnd> {
  try {
    return await work;
  } catch (cause) {
    if (lease.signal.aborted) throw lease.signal.reason;
    if (signal.aborted || codeOf(cause) === "INFRA_LOCKED") throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InfraError("INFRA_INTERRUPTED", `The rollout was cut off: ${why}`, {
      hint: "Run `cairn update --mesh --resume`. It looks at the nodes first.",
      cause,
    });
  }
}

function storeOf({ journal }: RolloutPorts, { lease }: Commands): JournalStore<RolloutEntry> {
  const write = (entry: RolloutEntry): Promise<void> => journal.write(entry, lease.number);
  return { write, close: write };
}

interface Unreachable {
  readonly node: string;
  readonly error: Error;
}

/**
 * Every node before the first is changed: a former holder's command may be on its way to any of them, and would take that out of
 * service beside the one that this rollout changes.
 */
async function fenceAndObserve(
  ports: RolloutPorts,
  commands: Commands,
  names: readonly string[],
): Promise<{ readonly observed: Observed; readonly unreachable: readonly Unreachable[] }> {
  const observed = new Map<string, NodeObservation>();
  const unreachable: Unreachable[] = [];
  const ends = await Promise.allSettled(
    names.map(async (node) => {
      const driver = ports.nodes.find(({ name }) => name === node);
      if (driver === undefined)
        throw new InfraError("INFRA_HOST_UNREACHABLE", `${node} is no node of the fleet any more.`);
      await fenceNode(commands, driver);
      observed.set(node, await observeNode(commands, driver));
    }),
  );
  for (const [index, one] of ends.entries()) {
    if (one.status === "fulfilled") continue;
    if (!isUnreachable(one.reason) || !(one.reason instanceof Error)) throw one.reason;
    unreachable.push({ node: names[index] ?? "", error: one.reason });
  }
  return { observed, unreachable };
}

/** Changing those does no harm. */
function notReadyFirst(names: readonly string[], observed: Observed): string[] {
  const ready = (name: string): boolean => observed.get(name)?.ready ?? false;
  return [...names.filter((name) => !ready(name)), ...names.filter(ready)];
}

type Former = RolloutEntry["from"][number];

/** Whether the rollout has given the node the new image. */
function isChanged({ to }: RolloutEntry, { node, image }: Former, observed: Observed): boolean {
  return image !== to && observed.get(node)?.image === to;
}

/**
 * What is left to do, by what runs: the journal says whether it goes back, and which nodes have passed. `untested`: nodes that are
 * tested also where they have the image already.
 */
function remaining(
  entry: RolloutEntry,
  observed: Observed,
  untested: readonly string[],
): { readonly nodes: string[]; readonly found: Found } {
  const { passed: tested, unsettled: begun, goingBack, failed } = foundIn(entry.steps);
  const ready = (node: string): boolean => observed.get(node)?.ready ?? false;
  const changed = (one: Former): boolean => isChanged(entry, one, observed);
  const had = ({ node, image }: Former): boolean =>
    image === entry.to && ready(node) && !begun.includes(node) && !untested.includes(node);
  const passed = entry.from.filter((one) => changed(one) && ready(one.node) && tested.includes(one.node));
  const names = (all: readonly Former[]): string[] => all.map(({ node }) => node);
  // First what was taken out of service and is not back, so that nothing else is out beside it.
  const inTurn = (all: readonly Former[]): string[] => {
    const nodes = notReadyFirst(names(all), observed);
    return [...nodes.filter((name) => begun.includes(name)), ...nodes.filter((name) => !begun.includes(name))];
  };
  const nodes = entry.from.filter((one) => !passed.includes(one) && !had(one));
  // What runs the new program and is not known to have passed was begun, whatever the journal says.
  const unsettled = nodes.filter((one) => begun.includes(one.node) || changed(one));
  return {
    nodes: inTurn(nodes),
    found: { passed: names(passed), unsettled: inTurn(unsettled), goingBack, failed },
  };
}

async function carryOut(
  ports: RolloutPorts,
  commands: Commands,
  journal: FleetJournal,
  observed: Observed,
  untested: readonly string[] = [],
): Promise<FleetEnd> {
  const { entry } = journal;
  const { maxUnavailable, onFailure, to } = entry;
  const isUnrelated = (error: unknown): boolean =>
    journal.broken || commands.signal.aborted || isUnreachable(error) || codeOf(error) === "INFRA_LOCKED";
  const end = await rollFleet({
    ...remaining(entry, observed, untested),
    maxUnavailable,
    onFailure,
    async change(node) {
      const driver = ports.nodes.find(({ name }) => name === node);
      if (driver === undefined) throw new InfraError("INFRA_FAILED", `${node} is no node of the fleet.`);
      const had = entry.from.find((one) => one.node === node)?.image ?? null;
      const record: NodeChange<FleetStep>["record"] = (name, work) =>
        journal.step(name, work, (error) => !isUnrelated(error));
      return changeOf(commands, driver, { to, from: had === to ? null : had }, { record, isUnrelated });
    },
    admit: (nodes) => admit(ports, commands, entry, nodes),
    isUnknown: isUnreachable,
    ...(ports.shared === undefined ? {} : { shared: ports.shared }),
  });
  return close(journal, end);
}

/**
 * Null once these may be taken out of service: nodes that are out of it already count as well. Else, after a while, what is in the
 * way. Nodes that do not serve may be changed at any time.
 */
async function admit(
  { clock, nodes }: RolloutPorts,
  { signal }: Commands,
  { from, maxUnavailable }: RolloutEntry,
  batch: readonly string[],
): Promise<string | null> {
  const fleet = nodes.filter(({ name }) => from.some(({ node }) => node === name));
  const began = clock.monotonic();
  for (;;) {
    const ready = await Promise.all(fleet.map((driver) => isReady(driver, signal)));
    const serving = fleet.filter((_, index) => ready[index]).map(({ name }) => name);
    const taken = batch.filter((name) => serving.includes(name)).length;
    const down = fleet.map(({ name }) => name).filter((name) => !serving.includes(name) && !batch.includes(name));
    if (taken === 0 || down.length + taken <= maxUnavailable) return null;
    if (clock.monotonic() - began >= RECOVERY_MS) return `${down.join(", ")} is out of service.`;
    await clock.sleep(POLL_MS, signal);
  }
}

function isReady(driver: NodeDriver, signal: AbortSignal): Promise<boolean> {
  return driver.observe(signal).then(
    ({ ready }) => ready,
    (error: unknown) => {
      if (isUnreachable(error)) return false;
      throw error;
    },
  );
}

async function close(journal: FleetJournal, end: FleetEnd): Promise<FleetEnd> {
  const { outcome, done, failed, reason, unknown } = end;
  const stuck = end.stuck.map(({ node }) => node);
  await journal.close({ end: { outcome, done, failed, reason, stuck, unknown } });
  return end;
}
