/**
 * `infra/unanswered.json`: what a run asked a target to make that went away before it answered. Each may have been made, and the
 * engine records none of it: the next run removes it, or takes it over where it may hold data, and makes no second one.
 */

import { rm } from "node:fs/promises";
import { z } from "zod";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { readJournalFile } from "../../rollout/journal.ts";
import type { TargetDriver } from "../driver.ts";
import { type ExportedState, resourcesOf } from "../engine/checkpoint.ts";
import type { EngineNote } from "../engine/notes.ts";
import type { InfraFiles } from "../files.ts";
import { unreachableHost } from "../images/docker-cli.ts";
import type { Report } from "../inspection.ts";

/** `type`: Pulumi's. `name`: the resource's own on the target. */
const asked = z.strictObject({ type: z.string(), name: z.string() });
const journal = z.strictObject({ schema: z.literal(1), asked: z.array(asked) });

export type Asked = z.infer<typeof asked>;

/** Gathers what was asked for and not answered from what the engine tells. */
export interface Unanswered {
  see(note: EngineNote): void;
  all(): readonly Asked[];
}

/** Of the engine: the provider has made it, and could not read what it made. */
const UNREAD = /expected non-nil error with nil state during Create/;

export function gatherUnanswered(): Unanswered {
  const begun = new Map<string, Asked>();
  const unreachable = new Set<string>();
  return {
    see(note) {
      if (note.urn === null) return;
      if (note.kind === "resource") {
        if (note.state === "started" && note.op.startsWith("create"))
          begun.set(note.urn, { type: note.type, name: note.name });
      } else if (note.severity === "error" && (UNREAD.test(note.message) || unreachableHost(note.message) !== null)) {
        unreachable.add(note.urn);
      }
    },
    all: () => [...begun].filter(([urn]) => unreachable.has(urn)).map(([, one]) => one),
  };
}

/** INFRA_STATE_UNREADABLE when the file cannot be understood. */
export async function readUnanswered(files: InfraFiles): Promise<readonly Asked[]> {
  const hint = "See `cairn infra status` and the target, remove the file, and run the same command again.";
  return (await readJournalFile(files.unanswered, journal, hint))?.asked ?? [];
}

/** At the end of a run: what it, or an earlier one, was not answered and is not recorded. */
export async function keepUnanswered(
  files: InfraFiles,
  state: ExportedState | null,
  more: readonly Asked[],
): Promise<void> {
  const before = await readUnanswered(files);
  if (before.length + more.length === 0) return;
  const recorded = new Set(resourcesOf(state).map(({ name }) => name));
  const all = new Map([...before, ...more].map((one) => [`${one.type} ${one.name}`, one]));
  await write(
    files,
    [...all.values()].filter(({ name }) => !recorded.has(name)),
  );
}

/** Of a session. */
interface Removal {
  readonly files: InfraFiles;
  readonly driver: Pick<TargetDriver, "removeUnrecorded">;
  readonly report: Report;
  readonly run: { readonly signal: AbortSignal };
}

/** Removes what was made without an answer and has no data. What may have some stays in the file, to be taken over. */
export async function removeUnanswered(
  { files, driver, report, run }: Removal,
  state: ExportedState | null,
): Promise<void> {
  const before = await readUnanswered(files);
  if (before.length === 0) return;
  const remaining = (await driver.removeUnrecorded?.(resourcesOf(state), report, run.signal, before)) ?? before;
  await write(files, remaining);
}

async function write(files: InfraFiles, remaining: readonly Asked[]): Promise<void> {
  if (remaining.length === 0) await rm(files.unanswered, { force: true });
  else await writeDurably(files.unanswered, `${JSON.stringify({ schema: 1, asked: remaining })}\n`, { mode: 0o600 });
}
