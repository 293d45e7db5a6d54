/**
 * `cairn restore`: a backup becomes a deployment in an empty place. Everything is filled beside it, the memory by a node of its own, and
 * gets its name at the end. Killed at any step, what was there is there, and the same command goes on.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { CairnError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { exists } from "../../../runtime/files/durable.ts";
import { backupsFolder } from "../../deploy/backup-deployed.ts";
import { type Obstacle, ofRunningNode, ofSchema } from "../../memory/obstacles.ts";
import { soFar } from "../../output/words.ts";
import { type Deployment, inspectWithoutSecrets } from "../../service/deployment.ts";
import { aboutBackup, type BackupResult } from "../backup.ts";
import { NODES } from "../manifest.ts";
import { type OpenBackup, openBackup } from "../read.ts";
import { createExtraction } from "./extract.ts";
import { isStoreElsewhere, type RestoredMemory, restoreMemory } from "./memory.ts";
import { formerPaths, ofPlaces, placesOf, type RestorePaths } from "./places.ts";
import { type Note, openStaging, type Staging } from "./staging.ts";

export interface RestoreResult extends Omit<BackupResult, "outcome" | "bytes"> {
  /** `blocked`: of `--check`, something is in the way. */
  readonly outcome: "restored" | "possible" | "blocked";
  readonly directory: string;
  readonly home: string;
  /** Rows of each section of the memory; empty where it was kept as an archive. */
  readonly counts: Readonly<Record<string, number>>;
  /** Names of the API tokens that work again. */
  readonly tokens: readonly string[];
  /** Archives of a deployed stack, which its nodes are restored from once it is there. */
  readonly archives: readonly string[];
  /** Paths in cairn.yaml that lead to where the deployment was, and not into what is restored. */
  readonly former_paths: readonly string[];
  /**
   * Where a killed restore of this backup is gone on with: `memory`, what it has put into the store is compared; `placing`, all is
   * filled. Null: from the beginning.
   */
  readonly goes_on_at: "memory" | "placing" | null;
  readonly obstacles: readonly Obstacle[];
  /** Of `--check`: where the restored node would listen and something does already, `127.0.0.1:7433`. It hinders the start alone. */
  readonly taken_address: string | null;
}

export interface RestoreOptions {
  readonly passphrase: string;
  /** Newest migration of this program; null: unknown. */
  readonly schema: number | null;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

/**
 * RUNTIME_CONFLICT, with what helps, where something is in the way; MEMORY_ARCHIVE_INVALID for what is no whole backup; errors of
 * `restoreMemory` and of the file system. Nothing is left behind then.
 */
export async function restoreBackup(
  file: string,
  deployment: Deployment,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const { passphrase, signal, onStep } = options;
  const places = placesOf(deployment);
  refuse(await ofRunningNode(deployment.home));
  const onBytes = (total: number): void => onStep(soFar("Unpacking", total));
  const opened = await openBackup(file, { passphrase, signal, onBytes });
  try {
    const { manifest } = opened;
    refuse(ofSchema(manifest, options.schema));
    const staging = await openStaging(places);
    try {
      const { pending } = staging;
      const isFilled = pending?.step === "placing" && pending.backup === manifest.id;
      const note = isFilled ? pending : await fillAll({ staging, opened, places, options });
      await staging.place();
      await staging.discard(false);
      const archives = note.archives.map((name) => join(places.directory, "backups", name));
      const { counts, tokens, parts, left_out } = note;
      const { loaded } = await inspectWithoutSecrets({ dir: places.directory, home: places.home }, signal);
      const former_paths = loaded === null ? [] : formerPaths(loaded.config, manifest, places);
      const about = { file, ...aboutBackup(manifest), directory: places.directory, home: places.home };
      const goes_on_at = pending?.backup === manifest.id ? pending.step : null;
      const rest = { parts, left_out, counts, tokens, archives, former_paths, goes_on_at };
      return { outcome: "restored", ...about, ...rest, obstacles: [], taken_address: null };
    } finally {
      await staging.close();
    }
  } finally {
    await opened.close();
  }
}

interface Filling {
  readonly staging: Staging;
  readonly opened: OpenBackup;
  readonly places: RestorePaths;
  readonly options: RestoreOptions;
}

/** All but the names. Removes what it has filled where it fails. */
async function fillAll(filling: Filling): Promise<Note> {
  const { staging, places } = filling;
  const [obstacle] = await ofPlaces(places);
  // Of another backup that was killed between its two renames, one half is here alone.
  const isHalf = staging.pending?.step === "placing" && (await exists(staging.directory));
  if (obstacle !== undefined || isHalf) {
    if (!isHalf) await staging.discard(false);
    refuse(isHalf ? halfPlaced(places) : (obstacle ?? null));
  }
  let keepsNote = false;
  try {
    return await fillEmpty(filling, () => {
      keepsNote = true;
    });
  } catch (error) {
    const isRefused = error instanceof CairnError && error.code === "MEMORY_STORE_NOT_EMPTY";
    await staging.discard(keepsNote && !isRefused);
    throw error;
  }
}

async function fillEmpty({ staging, opened, places, options }: Filling, onStoreElsewhere: () => void): Promise<Note> {
  const { manifest } = opened;
  const isStack = manifest.deployment.nodes !== null;
  await staging.begin();
  const folder = join(staging.directory, "backups");
  const extraction = createExtraction({
    directory: staging.directory,
    home: staging.home,
    archive: (name) => (isStack ? join(folder, archiveName(name)) : staging.archive),
  });
  const { parts, left_out } = await opened.read(extraction.take);
  await extraction.finish();
  let memory: RestoredMemory = { counts: {}, tokens: [] };
  const archives = isStack ? [...extraction.archives.keys()].map(archiveName) : [];
  if (isStack) await backupsFolder(staging.directory);
  else {
    const input = { staging, places, backup: manifest.id, ...options };
    if (await isStoreElsewhere(input)) onStoreElsewhere();
    memory = await restoreMemory(input);
    await removeTraces(staging.home);
    await staging.removeArchive();
  }
  const { counts, tokens } = memory;
  const note: Note = { backup: manifest.id, step: "placing", counts, tokens: [...tokens], archives, parts, left_out };
  await staging.write(note);
  return note;
}

/** `nova-1-files.tar.gz` of `nodes/nova-1/files.tar.gz`. */
function archiveName(entry: string): string {
  return entry.replace(`${NODES}/`, "").replaceAll("/", "-");
}

/** What the short-lived node has left: whose home it was meanwhile, and its log. */
async function removeTraces(home: string): Promise<void> {
  const logs = await readdir(join(home, "logs")).catch((): string[] => []);
  const paths = ["home.json", "run", ...logs.filter((name) => name !== "audit").map((name) => join("logs", name))];
  for (const path of paths) await rm(join(home, path), { recursive: true, force: true });
}

/** Of another backup that was killed between its two renames: one half is here alone. */
export function halfPlaced({ directory }: RestorePaths): Obstacle {
  return {
    message: `The restore of another backup into ${directory} was cut off at its end.`,
    hint: "Run it again with that backup.",
  };
}

/** RUNTIME_CONFLICT. */
function refuse(obstacle: Obstacle | null): void {
  if (obstacle === null) return;
  const { message, hint } = obstacle;
  throw new RuntimeError("RUNTIME_CONFLICT", message, hint === null ? {} : { hint: `Nothing was changed. ${hint}` });
}
