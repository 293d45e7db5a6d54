/**
 * A rollout of many nodes: the first alone as canary, then at most so many at a time, each tested before the next. Where one fails it
 * goes back, and then those that had passed, last one first. Of one node rollback.ts has the way.
 */

import type { FleetStep, Found, OnFailure, Outcome } from "./fleet-steps.ts";
import { type ChangeEnd, changeNode, type NodeChange, rollBack } from "./rollback.ts";

export interface Fleet {
  /** Those that are to be changed, in order. */
  readonly nodes: readonly string[];
  readonly found: Found;
  /** Nodes that are changed at the same time. */
  readonly maxUnavailable: number;
  readonly onFailure: OnFailure;
  /** Asked when the node's turn has come. */
  readonly change: (node: string) => Promise<NodeChange<FleetStep>>;
  /** What all nodes share, changed before them; repeatable. */
  readonly shared?: () => Promise<void>;
  /** Asked before nodes are taken out of service: null, or why it is not the time for that. */
  readonly admit?: (nodes: readonly string[]) => Promise<string | null>;
  /** Errors after which nothing is known of the node, such as a lost connection: the rollout pauses. */
  readonly isUnknown?: (error: unknown) => boolean;
}

export interface FleetEnd {
  readonly outcome: Outcome;
  /** Nodes that have the new program, in the order in which they got it. */
  readonly done: readonly string[];
  /** The first that failed. */
  readonly failed: string | null;
  readonly reason: string | null;
  /** Nodes that neither passed nor came back. `back`: why not; null: nothing is known of what it had. */
  readonly stuck: readonly { readonly node: string; readonly back: string | null }[];
  /** Nodes that were not reached: either program may run there. */
  readonly unknown: readonly string[];
  /** What the first step that failed threw. */
  readonly cause: unknown;
}

/** `unknown`: nothing can be said of the node. */
type NodeEnd = ChangeEnd | { readonly kind: "unknown"; readonly reason: string; readonly cause: unknown };

interface NamedEnd {
  readonly node: string;
  readonly end: NodeEnd;
}

interface Failure {
  readonly failed: string | null;
  readonly reason: string;
  readonly cause?: unknown;
}

/** Rejects with errors that no rollback mends (`isUnrelated` of a change): then it has not ended, and can be resumed. */
export async function rollFleet(fleet: Fleet): Promise<FleetEnd> {
  const { nodes, found } = fleet;
  if (found.goingBack) {
    return goBack(fleet, found.unsettled, found.passed, { failed: found.failed, reason: "It had failed before." });
  }
  await fleet.shared?.();
  const done = found.passed.filter((name) => !nodes.includes(name));
  // What an interrupted run has left half done, until it is reached.
  let unsettled = found.unsettled.filter((name) => nodes.includes(name));
  for (const batch of batchesOf(nodes, fleet.maxUnavailable)) {
    const held = (await fleet.admit?.(batch)) ?? null;
    if (held !== null) return ended(done, { failed: null, reason: held }, { stuck: [], unknown: unsettled }, "paused");
    const ends = await all(batch, (node) => endOf(fleet, node, changeNode));
    unsettled = unsettled.filter((name) => !batch.includes(name));
    done.push(...ends.filter(({ end }) => end.kind === "passed").map(({ node }) => node));
    const [first] = ends.flatMap(({ node, end }) => (end.kind === "passed" ? [] : [{ node, end }]));
    if (first === undefined) continue;
    const { reason, cause } = first.end;
    const failure = { failed: first.node, reason, cause };
    const bad = problemsOf(ends, unsettled);
    return hasProblem(bad) ? ended(done, failure, bad) : goBack(fleet, unsettled, done, failure);
  }
  return { outcome: "passed", done, failed: null, reason: null, stuck: [], unknown: [], cause: undefined };
}

/** The canary alone, then as many as may be out of service: the next ones wait until all of these have passed. */
function batchesOf(nodes: readonly string[], size: number): string[][] {
  const step = Math.max(size, 1);
  const batches = nodes.slice(0, 1).map((canary) => [canary]);
  for (let next = 1; next < nodes.length; next += step) batches.push(nodes.slice(next, next + step));
  return batches;
}

/** First what is half done, then those that passed, one by one, unless they are to keep what they have. */
async function goBack(
  fleet: Fleet,
  unsettled: readonly string[],
  passed: readonly string[],
  failure: Failure,
): Promise<FleetEnd> {
  const done = [...passed];
  for (const [index, node] of unsettled.entries()) {
    const held = (await fleet.admit?.([node])) ?? null;
    if (held !== null) return ended(done, because(failure, held), { stuck: [], unknown: unsettled.slice(index) });
    const bad = problemsOf([await backOf(fleet, node, failure)], unsettled.slice(index + 1));
    if (hasProblem(bad)) return ended(done, failure, bad);
  }
  if (fleet.onFailure === "pause") return ended(done, failure);
  for (const node of passed.toReversed()) {
    const held = (await fleet.admit?.([node])) ?? null;
    if (held !== null) return ended(done, because(failure, held));
    const bad = problemsOf([await backOf(fleet, node, failure)]);
    done.pop();
    if (hasProblem(bad)) return ended(done, failure, bad);
  }
  return ended(done, failure);
}

async function backOf(fleet: Fleet, node: string, { reason }: Failure): Promise<NamedEnd> {
  return { node, end: await endOf(fleet, node, (change) => rollBack(change, reason)) };
}

function because(failure: Failure, held: string): Failure {
  return { ...failure, reason: `${failure.reason} ${held}` };
}

async function endOf(
  fleet: Fleet,
  node: string,
  work: (change: NodeChange<FleetStep>) => Promise<ChangeEnd>,
): Promise<NodeEnd> {
  try {
    return await work(await fleet.change(node));
  } catch (cause) {
    if (!fleet.isUnknown?.(cause)) throw cause;
    return { kind: "unknown", reason: cause instanceof Error ? cause.message : String(cause), cause };
  }
}

/** Ends only when all have: a rejection leaves none at work. */
async function all(nodes: readonly string[], work: (node: string) => Promise<NodeEnd>): Promise<NamedEnd[]> {
  const ends = await Promise.allSettled(nodes.map(async (node) => ({ node, end: await work(node) })));
  return ends.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

interface Problems {
  readonly stuck: FleetEnd["stuck"];
  readonly unknown: FleetEnd["unknown"];
}

/** `unsettled`: what is left half done then. It counts only where there is a problem, since else it goes back. */
function problemsOf(ends: readonly NamedEnd[], unsettled: readonly string[] = []): Problems {
  const stuck = ends.flatMap(({ node, end }) => (end.kind === "stuck" ? [{ node, back: end.back }] : []));
  const lost = ends.flatMap(({ node, end }) => (end.kind === "unknown" ? [node] : []));
  return { stuck, unknown: stuck.length + lost.length > 0 ? [...lost, ...unsettled] : [] };
}

function hasProblem({ stuck, unknown }: Problems): boolean {
  return stuck.length + unknown.length > 0;
}

function ended(
  done: readonly string[],
  { failed, reason, cause }: Failure,
  { stuck, unknown }: Problems = { stuck: [], unknown: [] },
  otherwise: Outcome = "rolled_back",
): FleetEnd {
  const mixed = done.length + unknown.length > 0;
  const outcome = stuck.length > 0 ? "operator" : mixed ? "paused" : otherwise;
  return { outcome, done, failed, reason, stuck, unknown, cause };
}
