/** What an update does to the source tree, or why it does nothing. Pure. */

import type { Release } from "./versions.ts";

/** A checkout as Git describes it. */
export interface TreeFacts {
  /** Commit that is checked out. */
  readonly head: string;
  /** Null: detached. */
  readonly branch: string | null;
  /** Release tags of the commit. */
  readonly headTags: readonly string[];
  /** Tracked files that differ from the commit. */
  readonly changed: readonly string[];
  /** Untracked files whose paths the release has, too. */
  readonly inTheWay: readonly string[];
  readonly target: Release & { readonly commit: string };
  readonly headIsBeforeTarget: boolean;
  readonly targetIsBeforeHead: boolean;
  /** Whether the remote has the commit: then nothing is lost when the branch is left. */
  readonly headIsPublished: boolean;
}

export type TreeMove =
  | { readonly kind: "none" }
  | { readonly kind: "fast-forward"; readonly branch: string }
  /** Leaves the tree at the tag, on no branch. */
  | { readonly kind: "checkout" };

export type TreePlan = TreeMove | { readonly kind: "refuse"; readonly message: string; readonly hint: string };

const SHOWN = 10;

export function planTree(facts: TreeFacts): TreePlan {
  const { branch, target, head, changed, inTheWay } = facts;
  if (changed.length > 0) {
    return {
      kind: "refuse",
      message: `The source tree has local changes: ${listed(changed)}.`,
      hint: "Commit them on a branch of your own, or put them aside with `git stash`, and run `cairn update` again.",
    };
  }
  if (inTheWay.length > 0) {
    return {
      kind: "refuse",
      message: `Files of your own have the names of files of release ${target.version}: ${listed(inTheWay)}.`,
      hint: "Move them elsewhere and run `cairn update` again.",
    };
  }
  if (head === target.commit) return { kind: "none" };
  if (branch === null) {
    if (facts.headTags.length > 0) return { kind: "checkout" };
    return {
      kind: "refuse",
      message: `The source tree is on no branch, at a commit that is no release (${head.slice(0, 12)}).`,
      hint: "Go to a branch or a release first, such as `git checkout main`; `git branch NAME` keeps what is there.",
    };
  }
  if (facts.headIsBeforeTarget) return { kind: "fast-forward", branch };
  if (facts.targetIsBeforeHead && facts.headIsPublished) return { kind: "checkout" };
  return {
    kind: "refuse",
    message: `The branch ${branch} has commits of its own: release ${target.version} cannot be reached by going forward.`,
    hint: `Merge or rebase by hand, or leave the branch as it is and go to the release: \`git checkout ${target.tag}\`.`,
  };
}

function listed(files: readonly string[]): string {
  const more = files.length - SHOWN;
  return `${files.slice(0, SHOWN).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
