/** What the nodes of a store know of its scheduled backups: kept beside the lease under which one of them takes them. */

import { z } from "zod";

export const BACKUP_LEASE = "backup";

const ms = z.number().nonnegative();

const last = z.object({
  name: z.string(),
  /** Of its snapshot. */
  at: ms,
  bytes: z.number().nonnegative(),
  /** Name and identity of the node that has it. */
  node: z.string(),
  node_id: z.string(),
});

const failure = z.object({
  /** Of the first attempt that failed since the last backup, and of the last one. */
  since: ms,
  at: ms,
  attempts: z.number().int().positive(),
  message: z.string(),
  hint: z.string().optional(),
  node: z.string(),
});

export type LastBackup = z.infer<typeof last>;
export type FailedBackup = z.infer<typeof failure>;

export interface BackupRecord {
  readonly last: LastBackup | null;
  readonly failure: FailedBackup | null;
}

/** What cannot be read is not known. */
export function recordOf(data: Readonly<Record<string, unknown>> | undefined): BackupRecord {
  return {
    last: last
      .nullable()
      .catch(null)
      .parse(data?.["last"] ?? null),
    failure: failure
      .nullable()
      .catch(null)
      .parse(data?.["failure"] ?? null),
  };
}
