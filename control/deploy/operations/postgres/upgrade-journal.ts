/**
 * `infra/postgres-upgrade.json`: an upgrade of PostgreSQL that is under way. While it copies, everything that it made may be
 * removed; once it switches, the new data are the ones that count.
 */

import { rm } from "node:fs/promises";
import { z } from "zod";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { writeDurably } from "../../../../runtime/files/durable.ts";
import { readJournalFile } from "../../../rollout/journal.ts";
import type { InfraFiles } from "../../files.ts";

const server = z.strictObject({
  major: z.number().int(),
  image: z.string(),
  /** Name of its data. */ volume: z.string(),
});
const journal = z.strictObject({
  schema: z.literal(1),
  stack: z.string(),
  state: z.enum(["copying", "switching"]),
  from: server,
  to: server,
  /** Path of the backup that was taken before. */
  backup: z.string(),
  tables: z.number().int(),
  rows: z.number().int(),
});

export type UpgradeEntry = z.infer<typeof journal>;

const AGAIN = "`cairn infra postgres upgrade`";

/** Null where none is under way. INFRA_STATE_UNREADABLE when the file cannot be understood. */
export function readUpgrade(files: InfraFiles): Promise<UpgradeEntry | null> {
  return readJournalFile(
    files.databaseUpgrade,
    journal,
    `See \`cairn infra status\`, remove the file, and run ${AGAIN}.`,
  );
}

export async function writeUpgrade(files: InfraFiles, entry: UpgradeEntry): Promise<void> {
  await writeDurably(files.databaseUpgrade, `${JSON.stringify(entry, null, 2)}\n`, { mode: 0o600 });
}

export async function closeUpgrade(files: InfraFiles): Promise<void> {
  await rm(files.databaseUpgrade, { force: true });
}

/** INFRA_UP_REFUSED where an upgrade was cut off: what it began, it ends. */
export async function refuseUnfinished(files: InfraFiles): Promise<void> {
  const found = await readUpgrade(files);
  if (found === null) return;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `The upgrade from PostgreSQL ${found.from.major} to ${found.to.major} was cut off.`,
    {
      hint: `Run ${AGAIN}: ${found.state === "switching" ? "it finishes" : "it removes what was made, and begins again"}.`,
    },
  );
}
