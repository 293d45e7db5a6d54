/** What a look at a target finds: every part of a stack as it is now, and what differs from what the state records. */

/** The current step, in a few words for the user. */
export type Report = (text: string) => void;

export interface ObservedNode {
  readonly name: string;
  readonly workload: string;
  readonly place: string;
  readonly state: "running" | "stopped" | "paused" | "missing" | "unknown";
  readonly health: "healthy" | "starting" | "unhealthy" | "unknown";
  /** As the target names it. */
  readonly image: string | null;
  /** Of the program in it, where the target knows. */
  readonly version: string | null;
  /** Since when it runs, or does not run any more: ISO 8601. */
  readonly since: string | null;
  /** How often the target started it again by itself. */
  readonly restarts: number | null;
  /** Why it is not healthy, in words, where the target gives a reason. */
  readonly reason?: string;
}

export const PART_KINDS = ["database", "network", "volume", "files", "object"] as const;
/** `files`: what a container gets to read; `object`: what else a cluster keeps of a stack. */
export type PartKind = (typeof PART_KINDS)[number];

/** A part of a stack that is no node. */
export interface ObservedPart {
  readonly kind: PartKind;
  /** As the target's own tools name it. */
  readonly name: string;
  readonly place: string;
  /** Node that it belongs to; null for what all share. */
  readonly node: string | null;
  /** `present`: there, and nothing that runs. */
  readonly state: ObservedNode["state"] | "present";
  /** Null for what does not run. */
  readonly health: ObservedNode["health"] | null;
  readonly image: string | null;
  readonly version: string | null;
  /** Since when it runs, or is there: ISO 8601. */
  readonly since: string | null;
  readonly restarts: number | null;
  /** Why it is not as it should be, in words. */
  readonly reason: string | null;
}

export const DRIFT_KINDS = ["missing", "stopped", "paused", "renamed", "replaced", "changed", "unfinished"] as const;
/** `replaced`: another thing stands under its name. `unfinished`: its last change failed half way. */
export type DriftKind = (typeof DRIFT_KINDS)[number];

/** Something that the state records and that is no longer so on the target, and how it comes back. */
export interface Drift {
  readonly kind: DriftKind;
  /** As the target's own tools name it. */
  readonly name: string;
  readonly place: string;
  /** Node that it belongs to; null for what all share. */
  readonly node: string | null;
  /** What was found, as a sentence. */
  readonly message: string;
  /** What `up` does about it, as a sentence. */
  readonly remedy: string;
  /** Data were in it and are gone. */
  readonly dataLost: boolean;
  /** URNs of resources that are gone: they leave the state, so that the engine makes them. */
  readonly forget: readonly string[];
  /** URNs of resources that exist and have to be made anew. */
  readonly replace: readonly string[];
  /** URNs of commands that have to run once more. */
  readonly rerun: readonly string[];
  /** What the engine cannot do, done before it runs; null where there is nothing. */
  readonly repair: ((report: Report, signal: AbortSignal) => Promise<void>) | null;
}

export interface Inspection {
  readonly nodes: readonly ObservedNode[];
  /** All of the plan, and what of it is missing. */
  readonly parts: readonly ObservedPart[];
  /** What all share first, the database before its nodes. */
  readonly drift: readonly Drift[];
}
