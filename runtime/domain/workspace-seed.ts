/**
 * Whether a workspace file of the operator is copied over the one that an agent works with. The rule: what an agent has written
 * is never lost, and where it has written nothing, the operator's newest version arrives.
 */

/** What is at a seed file's place in the workspace. */
export type SeedTarget =
  | { readonly kind: "missing" }
  | { readonly kind: "file"; readonly hash: string }
  /** A folder, a link, anything that is no regular file: never touched, never followed. */
  | { readonly kind: "other" };

/** What this node remembers of one file. */
export interface SeedRecord {
  /** Hash of the operator's version that was there last; null where there was none. */
  readonly placed: string | null;
  /** Hash of the version that is being put there: it may be there, if a start was cut off. */
  readonly pending: string | null;
}

export type SeedDecision =
  /** Put the operator's version there; `record` is to be kept until that is done. */
  | { readonly action: "place"; readonly record: SeedRecord }
  /** It is there already. */
  | { readonly action: "note" }
  /** The agent's version stays. `conflict`: the operator has changed the source since: reported for review. */
  | { readonly action: "keep"; readonly conflict: boolean };

/** `seed` is the hash of the operator's version. */
export function decideSeed(seed: string, present: SeedTarget, record: SeedRecord = NOTHING): SeedDecision {
  const { placed, pending } = record;
  switch (present.kind) {
    case "missing":
      // An agent that has deleted a file is not given it back, until there is a newer one.
      if (pending === null && placed === seed) return { action: "keep", conflict: false };
      return { action: "place", record: { placed, pending: seed } };
    case "file":
      if (present.hash === seed) return { action: "note" };
      if (present.hash !== placed && present.hash !== pending) return { action: "keep", conflict: placed !== seed };
      return { action: "place", record: { placed: present.hash, pending: seed } };
    case "other":
      return { action: "keep", conflict: placed !== seed };
  }
}

const NOTHING: SeedRecord = { placed: null, pending: null };
