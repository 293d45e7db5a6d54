/**
 * `update` of a node that runs from a source tree. The new version is fetched, installed and built beside the old one, which
 * keeps running; then one rename lets the next start run it. The tree itself moves last, when the node has passed its gate.
 */

import semver from "semver";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { isOlder } from "../../runtime/contracts/versions.ts";
import { inspectWithoutSecrets } from "../service/deployment.ts";
import type { NodeFile } from "../service/node-file.ts";
import { inspectNode } from "../service/stale-node-file.ts";
import { unknownHolder } from "../service/stop-node.ts";
import { Builds, versionIn } from "./builds.ts";
import type { Candidate } from "./candidate.ts";
import { Git } from "./git.ts";
import { beginJournal, type JournalEntry, readJournal, resumeJournal } from "./journal.ts";
import { withPrebuilt } from "./prebuilt.ts";
import { keeperOf } from "./restart.ts";
import type { UpdateResult } from "./result.ts";
import { decideResumption, type Found } from "./resume.ts";
import { back, forward, recordStep, type TreeUpdate, type Work, withoutAbort } from "./tree-change.ts";
import { planTree } from "./tree-plan.ts";
import { refuseVersionSkew } from "./version-skew.ts";

/**
 * RUNTIME_CONFLICT with the way out when the tree does not allow it, INFRA_BUILD_FAILED, errors of Git and of the archive,
 * RUNTIME_VERSION_SKEW when the node shares its database with one of a release too far away;
 * nothing was stopped or changed then. INFRA_LOCKED while another deployment updates the tree; the caller holds the lock of this one.
 */
export async function updateTree(update: TreeUpdate): Promise<UpdateResult> {
  const { root, deployment, signal, prebuilt } = update;
  const git = new Git(root, signal);
  const interrupted = await readJournal(deployment.home);
  if (prebuilt === undefined && interrupted === null) await git.requireCheckout();
  const builds = new Builds(root);
  return builds.withLock(() => updateLocked(update, builds, git, interrupted));
}

async function updateLocked(
  update: TreeUpdate,
  builds: Builds,
  git: Git,
  interrupted: JournalEntry | null,
): Promise<UpdateResult> {
  const { root, prebuilt } = update;
  const ended =
    interrupted !== null && interrupted.root === root ? await resume(update, builds, git, interrupted) : null;
  if (ended !== null && !goesElsewhere(update, ended)) return ended;
  await builds.heal();
  if (prebuilt === undefined) return begin(update, builds, git);
  const result = await withPrebuilt(prebuilt, { builds, ...update }, (candidate) =>
    change(update, builds, git, candidate),
  );
  return ended !== null && result.outcome === "unchanged" ? ended : result;
}

/** Whether an update that has just been finished was for another release than the requested one. */
function goesElsewhere({ version, prebuilt }: TreeUpdate, { outcome, to }: UpdateResult): boolean {
  if (outcome !== "updated" && outcome !== "pending") return false;
  return prebuilt !== undefined || (version !== undefined && semver.valid(version) !== to);
}

async function begin(update: TreeUpdate, builds: Builds, git: Git): Promise<UpdateResult> {
  const { report, signal } = update;
  await git.requireCheckout();
  report("Looking for releases");
  const release = await git.release(update.version);
  const facts = await git.facts(release);
  const plan = planTree(facts);
  if (plan.kind === "refuse") throw new RuntimeError("RUNTIME_CONFLICT", plan.message, { hint: plan.hint });

  const from = await versionIn((await builds.serving()) ?? update.root);
  const { commit } = facts.target;
  const { version, tag } = release;
  const unchanged = plan.kind === "none" && from === version;
  const back = update.version === undefined && isOlder(version, from);
  if (unchanged || back) return remains(update, from);
  const stage = builds.folderFor(version, commit);
  return change(update, builds, git, {
    source: "git",
    to: { version, commit, tag },
    stage,
    move: plan.kind,
    stageIt: () => git.addWorktree(stage, commit),
    async packages() {
      report("Installing packages");
      await builds.prepare(stage, "packages", signal);
    },
    async build() {
      report(`Building ${version}`);
      await builds.prepare(stage, "build", signal);
      await builds.requireComplete(stage, version);
    },
  });
}

async function remains({ deployment }: TreeUpdate, version: string): Promise<UpdateResult> {
  const running = await runningNode(deployment.home);
  const stale = running !== null && running.version !== version;
  const next = stale ? `The node still runs ${running.version}: \`cairn restart\` changes that.` : null;
  const same = { from: version, to: version, restarted: false, reason: null, next };
  return { schema: 1, target: "manual", outcome: "unchanged", ...same };
}

async function change(update: TreeUpdate, builds: Builds, git: Git, candidate: Candidate): Promise<UpdateResult> {
  const { deployment, root, now } = update;
  const { source, to, stage, move } = candidate;
  const serving = (await builds.serving()) ?? root;
  const from = await versionIn(serving);
  if (source === "prebuilt" && serving === stage) return remains(update, from);
  const running = await runningNode(deployment.home);
  if (running !== null) await refuseVersionSkew(update, to.version);
  const journal = await beginJournal(deployment.home, now, {
    schema: 1,
    root,
    source,
    from: { version: from, commit: source === "git" ? await git.head() : "" },
    to,
    stage,
    former: await builds.formerOf(serving),
    keeper: running === null ? { kind: "own" } : await keeperOf(running.pid),
    move,
    restart: update.restart && running !== null,
    started_at: now().toISOString(),
    steps: [],
  });
  const work: Work = { ...update, builds, git, journal };
  try {
    await prepare(work, candidate, serving);
  } catch (error) {
    // Nothing that serves was touched.
    if (serving !== stage) await withoutAbort(work).git.removeWorktree(stage);
    await journal.close();
    throw error;
  }
  return forward(work);
}

async function prepare(work: Work, candidate: Candidate, serving: string): Promise<void> {
  const { deployment } = work;
  // Built already, and what the next start runs: only the tree is at another commit.
  if (serving !== candidate.stage) {
    await recordStep(work, "stage", () => candidate.stageIt());
    await recordStep(work, "packages", () => candidate.packages());
    await recordStep(work, "build", () => candidate.build());
  }
  // A configuration that cannot be read would let the node stop and not start.
  const inspection = await inspectWithoutSecrets(deployment, work.signal).catch(() => null);
  if (inspection?.error) throw inspection.error;
}

/** Null: begin anew. */
async function resume(update: TreeUpdate, builds: Builds, git: Git, entry: JournalEntry): Promise<UpdateResult | null> {
  const found = await readState(builds, git, entry);
  const decision = decideResumption(entry, found);
  const journal = resumeJournal(update.deployment.home, update.now, entry);
  if (decision.kind === "anew") {
    await builds.heal();
    await git.removeWorktree(entry.stage);
    await journal.close();
    return null;
  }
  if (decision.kind === "operator") {
    const { from, to } = entry;
    const next = `Bring the source tree to ${from.version} or ${to.version}, then remove update.json from the home directory.`;
    const said = { reason: decision.message, next, restarted: false };
    return { schema: 1, outcome: "operator", target: "manual", from: from.version, to: to.version, ...said };
  }
  update.report("Resuming the interrupted update");
  const work: Work = { ...update, builds, git, journal };
  return decision.kind === "forward" ? forward(work) : back(work, "An interrupted update had failed.");
}

async function readState(builds: Builds, git: Git, entry: JournalEntry): Promise<Found> {
  // An archive has nothing to do with the tree.
  const head = entry.source === "prebuilt" ? entry.from.commit : await git.head();
  const serving = await builds.serving();
  if (serving === null) return { serving: "none", head };
  if (serving === entry.stage) return { serving: "new", head };
  return { serving: serving === entry.former ? "former" : "other", head };
}

/** The node of this home; null when none runs. RUNTIME_CONFLICT when another process holds the home. */
async function runningNode(home: string): Promise<NodeFile | null> {
  const state = await inspectNode(home);
  if (state.state === "busy") throw unknownHolder(home);
  return state.state === "running" ? state.node : null;
}
