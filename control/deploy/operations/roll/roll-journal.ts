/** `infra/rollout.json`: the journal of a rollout that is under way. */

import { z } from "zod";
import type { FleetStep } from "../../../rollout/fleet-steps.ts";
import { Journal, journalFile, readJournalFile } from "../../../rollout/journal.ts";
import type { InfraFiles } from "../../files.ts";

const journal = z.strictObject({
  schema: z.literal(1),
  stack: z.string(),
  /** From the command line; null: each node's own. */
  image: z.string().nullable(),
  started_at: z.string(),
  steps: z.array(
    z.strictObject({
      name: z
        .string()
        .regex(/^(apply|gate|back|gate-former) \S+$/)
        .transform((name) => name as FleetStep),
      state: z.enum(["begun", "done", "failed"]),
      at: z.string(),
    }),
  ),
});

export type RollEntry = z.infer<typeof journal>;
export type RollJournal = Journal<FleetStep, RollEntry>;

/** Null where no rollout is under way. INFRA_STATE_UNREADABLE when the file cannot be understood. */
export function readRoll(files: InfraFiles): Promise<RollEntry | null> {
  const hint =
    "See `cairn infra status`, remove the file, and run `cairn infra up --roll`: it begins with what differs.";
  return readJournalFile(files.rollout, journal, hint);
}

/** Goes on with `before`, or begins. */
export function openRoll(
  files: InfraFiles,
  now: () => Date,
  begin: Pick<RollEntry, "stack" | "image">,
  before: RollEntry | null,
): Promise<RollJournal> {
  const store = journalFile<RollEntry>(files.rollout);
  if (before !== null) return Promise.resolve(Journal.resume<FleetStep, RollEntry>(store, now, before));
  const entry: RollEntry = { schema: 1, ...begin, started_at: now().toISOString(), steps: [] };
  return Journal.begin<FleetStep, RollEntry>(store, now, entry);
}
