/** `infra/node-rename.json`: a node that is getting another name. Data under that name are copies that this rename made. */

import { rm } from "node:fs/promises";
import { z } from "zod";
import { writeDurably } from "../../../../runtime/files/durable.ts";
import { readJournalFile } from "../../../rollout/journal.ts";
import type { InfraFiles } from "../../files.ts";

const journal = z.strictObject({ schema: z.literal(1), from: z.string(), to: z.string() });

export interface Rename {
  readonly from: string;
  readonly to: string;
}

/** Whether this rename was cut off. INFRA_STATE_UNREADABLE when the file cannot be understood. */
export async function isBegun(files: InfraFiles, { from, to }: Rename): Promise<boolean> {
  const hint = "Remove the file, and run the same command again.";
  const found = await readJournalFile(files.nodeRename, journal, hint);
  return found !== null && found.from === from && found.to === to;
}

export async function writeRename(files: InfraFiles, { from, to }: Rename): Promise<void> {
  await writeDurably(files.nodeRename, `${JSON.stringify({ schema: 1, from, to })}\n`, { mode: 0o600 });
}

export async function closeRename(files: InfraFiles): Promise<void> {
  await rm(files.nodeRename, { force: true });
}
