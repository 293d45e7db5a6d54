/**
 * `update` of a deployed node whose program is a source tree: the release is built beside the tree, its image is deployed from
 * there, and the tree follows when the node has passed.
 */

import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { isOlder } from "../../runtime/contracts/versions.ts";
import { Builds, versionIn } from "./builds.ts";
import { Git } from "./git.ts";
import type { UpdateResult } from "./result.ts";
import { planTree } from "./tree-plan.ts";

export interface ReleaseUpdate {
  /** Source tree. */
  readonly root: string;
  readonly version: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (text: string) => void;
  /** Deploys an image of the program in this directory. */
  readonly deploy: (program: string) => Promise<UpdateResult>;
}

/** Errors as `updateTree`'s, with nothing changed, and those of `deploy`. */
export async function updateFromRelease(update: ReleaseUpdate): Promise<UpdateResult> {
  const { root, signal } = update;
  const git = new Git(root, signal);
  await git.requireCheckout();
  const builds = new Builds(root);
  return builds.withLock(() => updateLocked(update, builds, git));
}

async function updateLocked(update: ReleaseUpdate, builds: Builds, git: Git): Promise<UpdateResult> {
  const { root, version, signal, report, deploy } = update;
  await builds.heal();
  report("Looking for releases");
  const release = await git.release(version);
  const facts = await git.facts(release);
  const plan = planTree(facts);
  if (plan.kind === "refuse") throw new RuntimeError("RUNTIME_CONFLICT", plan.message, { hint: plan.hint });

  const serving = (await builds.serving()) ?? root;
  const from = await versionIn(serving);
  const stays =
    (plan.kind === "none" && from === release.version) || (version === undefined && isOlder(release.version, from));
  // The program is right already; the node may have an older image.
  if (stays) return deploy(serving);

  const { commit } = facts.target;
  const stage = builds.folderFor(release.version, commit);
  const uninterruptedGit = new Git(root, new AbortController().signal);
  try {
    if (serving !== stage) await builds.make(git, { stage, commit, version: release.version }, signal, report);
    const result = await deploy(stage);
    if (result.outcome !== "updated" && result.outcome !== "unchanged") {
      if (serving !== stage) await uninterruptedGit.removeWorktree(stage);
      return result;
    }
    await builds.switchTo(stage);
    await uninterruptedGit.move(plan.kind, facts.target);
    await builds.forgetFormer();
    for (const path of await builds.others([stage, serving])) await uninterruptedGit.removeWorktree(path);
    return result;
  } catch (error) {
    if (serving !== stage && (await builds.serving()) !== stage) await uninterruptedGit.removeWorktree(stage);
    throw error;
  }
}
