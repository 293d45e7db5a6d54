/** `update.json` in the home directory: the journal of an update of the program that runs from a source tree. */

import { join } from "node:path";
import { z } from "zod";
import { Journal, journalFile, readJournalFile } from "../rollout/journal.ts";
import { BACK, FORWARD } from "../rollout/steps.ts";

/** In order; the last three only go back. */
export const STEPS = ["stage", "packages", "build", ...FORWARD, "tree", ...BACK] as const;
export type StepName = (typeof STEPS)[number];

const build = z.strictObject({ version: z.string(), commit: z.string() });

const journal = z.strictObject({
  schema: z.literal(1),
  /** Source tree. */
  root: z.string(),
  /** `prebuilt`: from an archive; its checksum replaces the commit, and the tree is not changed. */
  source: z.enum(["git", "prebuilt"]).default("git"),
  from: build,
  to: build.extend({ tag: z.string() }),
  /** Folder with the new build. */
  stage: z.string(),
  /** Folder of package.json of the build that served before. */
  former: z.string(),
  /** What ran the node. */
  keeper: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("own") }),
    z.strictObject({ kind: z.literal("systemd"), unit: z.string(), scope: z.enum(["system", "user"]) }),
  ]),
  move: z.enum(["none", "fast-forward", "checkout"]),
  /** Whether a node ran when it began, and is to be restarted. */
  restart: z.boolean(),
  started_at: z.string(),
  steps: z.array(z.strictObject({ name: z.enum(STEPS), state: z.enum(["begun", "done", "failed"]), at: z.string() })),
});

export type JournalEntry = z.infer<typeof journal>;
export type UpdateJournal = Journal<StepName, JournalEntry>;

function journalPath(home: string): string {
  return join(home, "update.json");
}

/** Null where no update is under way. INFRA_STATE_UNREADABLE when the file cannot be understood. */
export function readJournal(home: string): Promise<JournalEntry | null> {
  const hint = "Look at what `cairn version` and `git status` say of the source tree, then remove the file.";
  return readJournalFile(journalPath(home), journal, hint);
}

export function beginJournal(home: string, now: () => Date, entry: JournalEntry): Promise<UpdateJournal> {
  return Journal.begin<StepName, JournalEntry>(journalFile(journalPath(home)), now, entry);
}

export function resumeJournal(home: string, now: () => Date, entry: JournalEntry): UpdateJournal {
  return Journal.resume<StepName, JournalEntry>(journalFile(journalPath(home)), now, entry);
}
