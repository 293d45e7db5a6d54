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
  const found = await readRename(files);
  return found !== null && found.from === from && found.to === to;
}

/** Where the node runs again under its former name: data under the other one may be somebody's from now on. */
export async function closeAbandoned(files: InfraFiles, running: readonly string[]): Promise<void> {
  const found = await readRename(files).catch(() => null);
  if (found !== null && running.includes(found.from)) await closeRename(files);
}

function readRename(files: InfraFiles): Promise<Rename | null> {
  return readJournalFile(files.nodeRename, journal, "Remove the file, and run the same command again.");
}

export async function writeRename(files: InfraFiles, { from, to }: Rename): Promise<void> {
  await writeDurably(files.nodeRename, `${JSON.stringify({ schema: 1, from, to })}\n`, { mode: 0o600 });
}

export async function closeRename(files: InfraFiles): Promise<void> {
  await rm(files.nodeRename, { force: true });
}
