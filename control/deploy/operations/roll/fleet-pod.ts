/**
 * A pod's part of a rollout: its group's template is applied once for all of its pods, which touches none, and then this one takes it.
 */

import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import type { FencingToken } from "../../../rollout/contracts.ts";
import type { PodRollout, TargetDriver } from "../../driver.ts";
import { lastWordsOf } from "../last-words.ts";
import { recordOwnCertificates } from "../own-certificates.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";
import type { FleetMember } from "./members.ts";
import { applyGraph, type NodeRun } from "./node-change.ts";

/** Image that was applied last to each group by this command line. */
export type AppliedImages = Map<string, string>;

export interface PodSwap {
  readonly pods: PodRollout;
  readonly member: FleetMember;
  readonly project: ReadProject;
  /** By the name that stands for exactly this one. */
  readonly image: string;
  readonly token: FencingToken;
  readonly words: string;
  readonly signal: AbortSignal;
  /** Lets another pod's turns end. */
  readonly drain: (pod: string) => Promise<void>;
}

/** Errors of applying; INFRA_LOCKED, and INFRA_FAILED with the pod's last words. Repeatable. */
export async function swapPod(run: NodeRun, applied: AppliedImages, swap: PodSwap): Promise<void> {
  const { session } = run;
  const { pods, member, project, image, token, words, signal } = swap;
  const { name, node } = member;
  const fence = (pod: string): Promise<void> => session.driver.fence(pod, { token, stop: false }, signal);
  await fence(name);
  const driver = await driverWith(run, applied, swap);
  const change = (pod: string): Promise<void> => pods.change(pod, { image, token, report: session.report }, signal);
  // A pod of a lower ordinal that is down may be changed first, or goes back first: the cluster knows one order alone.
  for (const above of await pods.before(name, signal)) {
    session.report(`${above} comes before ${name}: the cluster changes the highest number first.`);
    await swap.drain(above);
    await fence(above);
    await withLastWords(session, above, change(above));
  }
  session.phase("node", `${words} ${name}`);
  await withLastWords(session, name, change(name));
  const observed = await session.driver.observe(signal);
  // The gate asks it next.
  await recordOwnCertificates({ ...session, driver }, project, [node], observed);
}

/** The graph, where this command line has not applied it for another pod of the group. */
async function driverWith(
  run: NodeRun,
  applied: AppliedImages,
  { member, project, image, words }: PodSwap,
): Promise<TargetDriver> {
  const { node } = member;
  if (applied.get(node) === image) return run.session.run.services.createDriver(project);
  applied.delete(node);
  const { driver } = await applyGraph(run, project, node, words);
  applied.set(node, image);
  return driver;
}

async function withLastWords(session: Session, pod: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof InfraError) || codeOf(error) !== "INFRA_FAILED" || session.run.signal.aborted) throw error;
    const said = await lastWordsOf(session, { kind: "node", name: pod });
    throw new InfraError("INFRA_FAILED", error.message, { ...error.details, ...said, cause: error });
  }
}
