/** What `cairn update` says at its end. */

import { z } from "zod";

/** The document of `cairn update --json`. */
export const updateResult = z.strictObject({
  schema: z.literal(1),
  /** `pending`: `--no-restart`, or no node ran: the next start runs the new build. */
  outcome: z.enum(["updated", "unchanged", "pending", "rolled_back", "operator"]),
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

/** 0 done, 1 failed and rolled back, 4 needs an operator. */
export function exitCodeOfUpdate({ outcome }: UpdateResult): number {
  if (outcome === "operator") return 4;
  return outcome === "rolled_back" ? 1 : 0;
}
