/** What `cairn update` says at its end. */

import { z } from "zod";

/** The document of `cairn update --json`. */
export const updateResult = z.strictObject({
  schema: z.literal(1),
  /**
   * `pending`: `--no-restart`, or no node ran: the next start runs the new build. `paused`: nodes that passed have the new version, the
   * one that failed has the former one.
   */
  outcome: z.enum(["updated", "unchanged", "pending", "rolled_back", "paused", "operator"]),
  target: z.enum(["manual", "docker", "proxmox", "kubernetes"]),
  from: z.string(),
  to: z.string(),
  restarted: z.boolean(),
  /** Why it went back, or could not. */
  reason: z.string().nullable(),
  /** Last lines of the node that failed, oldest first, where it was deployed. */
  last_words: z.array(z.string()).optional(),
  /** File of this machine with everything that was said, where there is one. */
  log: z.string().optional(),
  /** What a person has to do; null: nothing. */
  next: z.string().nullable(),
});

export type UpdateResult = z.infer<typeof updateResult>;

/** The document of `cairn update --mesh --dry-run --json`. */
export const updatePlan = z.strictObject({
  schema: z.literal(1),
  outcome: z.literal("planned"),
  target: z.enum(["manual", "docker", "proxmox", "kubernetes"]),
  /** Null: the image is built first. */
  to: z.string().nullable(),
  /** In the order in which they would be changed. */
  nodes: z.array(
    z.strictObject({
      name: z.string(),
      /** As the target names it; null: nothing runs there. */
      image: z.string().nullable(),
      version: z.string().nullable(),
      ready: z.boolean(),
      /** What would be done; none where it has the image already. */
      steps: z.array(z.string()),
    }),
  ),
  /** What would be in the way. */
  problems: z.array(z.string()),
});

export type UpdatePlan = z.infer<typeof updatePlan>;

/** The document of `cairn update --mesh --history --json`. */
export const updateHistory = z.strictObject({
  schema: z.literal(1),
  /** Newest first. */
  rollouts: z.array(
    z.strictObject({
      id: z.string(),
      by: z.string(),
      started_at: z.string(),
      to: z.string(),
      /** `interrupted`: it is under way, or can be resumed. */
      outcome: z.enum(["passed", "rolled_back", "paused", "operator", "interrupted"]),
      done: z.array(z.string()),
      failed: z.string().nullable(),
      reason: z.string().nullable(),
      steps: z.array(z.strictObject({ name: z.string(), state: z.enum(["begun", "done", "failed"]), at: z.string() })),
    }),
  ),
});

export type UpdateHistory = z.infer<typeof updateHistory>;

/** 0 done, 1 failed and rolled back, 4 needs an operator: also where nodes are of two versions. */
export function exitCodeOfUpdate({ outcome }: UpdateResult): number {
  if (outcome === "operator" || outcome === "paused") return 4;
  return outcome === "rolled_back" ? 1 : 0;
}
