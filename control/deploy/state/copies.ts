/** Copies of the state: one before and one after every change, the newest twenty kept. Secrets in them are encrypted. */

import { copyFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { type ExportedState, exportedState } from "../engine/checkpoint.ts";
import type { InfraFiles } from "../files.ts";

/** How many are kept. */
export const KEPT_COPIES = 20;

export interface StateCopy {
  /** Its file name without `.json`: `2026-01-31T12-00-00-000Z-up`. */
  readonly name: string;
  readonly file: string;
}

/** Null when there is nothing yet to copy. The stack's settings go along: they hold the salt of the passphrase. */
export async function copyState(
  files: InfraFiles,
  state: ExportedState | null,
  operation: string,
  now: Date,
): Promise<StateCopy | null> {
  if (state === null || (state.deployment.resources ?? []).length === 0) return null;
  await mkdir(files.copies, { recursive: true, mode: 0o700 });
  const name = `${now.toISOString().replaceAll(/[:.]/g, "-")}-${operation.replaceAll(/\W+/g, "-")}`;
  const file = join(files.copies, `${name}.json`);
  await writeDurably(file, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  await copyFile(files.stackFile, join(files.copies, `${name}.yaml`)).catch(() => undefined);
  const old = (await listCopies(files)).slice(KEPT_COPIES);
  for (const one of old) {
    await rm(one.file, { force: true });
    await rm(one.file.replace(/\.json$/, ".yaml"), { force: true });
  }
  return { name, file };
}

const NO_COPY =
  "There is no copy of it. The data stay on the target: `cairn infra recover` deploys the stack anew over them.";

/** Newest first. */
export async function listCopies(files: InfraFiles): Promise<StateCopy[]> {
  const names = await readdir(files.copies).catch(() => []);
  return names
    .filter((name) => /^\d{4}-.*\.json$/.test(name))
    .sort()
    .reverse()
    .map((name) => ({ name: name.slice(0, -".json".length), file: join(files.copies, name) }));
}

/** The copy of that name or path, else the newest that can be read. INFRA_STATE_UNREADABLE when there is none. */
export async function readCopy(
  files: InfraFiles,
  wanted: string | null,
): Promise<{ readonly copy: StateCopy; readonly state: ExportedState }> {
  const all = await listCopies(files);
  const chosen = wanted === null ? all : all.filter(({ name, file }) => [name, file, `${name}.json`].includes(wanted));
  for (const copy of chosen) {
    try {
      return { copy, state: exportedState.parse(JSON.parse(await readFile(copy.file, "utf8"))) };
    } catch {
      // The next older one may be whole.
    }
  }
  const listed = all.map(({ name }) => name).join(", ");
  throw new InfraError(
    "INFRA_STATE_UNREADABLE",
    wanted === null ? "There is no copy of the state that can be read." : `There is no readable copy ${wanted}.`,
    {
      hint: listed === "" ? NO_COPY : `Copies: ${listed}.`,
    },
  );
}

/** Says which copy could be put back, or that there is none, for an error about the state itself. */
export async function offerCopy(files: InfraFiles, error: unknown): Promise<unknown> {
  if (!(error instanceof InfraError) || error.code !== "INFRA_STATE_UNREADABLE") return error;
  const found = await readCopy(files, null).catch(() => null);
  return new InfraError("INFRA_STATE_UNREADABLE", error.message, {
    hint:
      found === null
        ? NO_COPY
        : `Put the newest good copy (${found.copy.name}) back with \`cairn infra unlock --restore-state\`.`,
    cause: error,
  });
}
