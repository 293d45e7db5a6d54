/** `cairn restore --check`: reads all of a backup, and says what a restore would meet here. Changes nothing. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parse } from "dotenv";
import { within } from "../../../infra/plan/workspaces.ts";
import {
  CONFIG_FILE,
  inspectConfig,
  mergeEnvironments,
  parseListen,
  SECRETS_FILE,
} from "../../../runtime/config/index.ts";
import { type Obstacle, ofRunningNode, ofSchema, ofStore } from "../../memory/obstacles.ts";
import { soFar } from "../../output/words.ts";
import type { Deployment } from "../../service/deployment.ts";
import { isFreePort } from "../../service/free-port.ts";
import { aboutBackup } from "../backup.ts";
import { DIRECTORY, type Manifest } from "../manifest.ts";
import { openBackup, type Take, verifyOnly } from "../read.ts";
import { formerPaths, ofPlaces, placesOf, targetsOf } from "./places.ts";
import { halfPlaced, type RestoreOptions, type RestoreResult } from "./restore.ts";
import { neededRoom, ofRoom } from "./room.ts";
import { inspectStaging } from "./staging.ts";

/** Bytes of cairn.yaml and of .env. */
const LARGEST = 1024 ** 2;

/** MEMORY_ARCHIVE_INVALID for what is no whole backup; everything else that is wrong is in the result. */
export async function checkRestore(
  file: string,
  deployment: Deployment,
  { passphrase, schema, signal, onStep }: RestoreOptions,
): Promise<RestoreResult> {
  const places = placesOf(deployment);
  const onBytes = (total: number): void => onStep(soFar("Reading", total));
  const opened = await openBackup(file, { passphrase, signal, onBytes });
  try {
    const { manifest } = opened;
    const texts = new Map<string, string>();
    const { parts, left_out } = await opened.read(keeping(texts));
    const isStack = manifest.deployment.nodes !== null;
    onStep("Looking at this machine");
    const staging = await inspectStaging(places);
    const { pending } = staging;
    const goesOnAt = pending?.backup === manifest.id ? pending.step : null;
    const mayBeFull = goesOnAt === "memory";
    const configuration = await ofConfiguration(texts, { deployment, manifest, mayBeFull, signal });
    const isHalf = goesOnAt === null && pending?.step === "placing" && staging.unnamed.includes(places.directory);
    // What is filled already is only given its names.
    const isFilled = goesOnAt === "placing";
    const found = [
      ofSchema(manifest, schema),
      await ofRunningNode(deployment.home),
      staging.obstacle,
      ...(isHalf ? [halfPlaced(places)] : await ofPlaces(places, isFilled ? staging.unnamed : targetsOf(places))),
      ...(isFilled ? [] : await ofRoom(neededRoom(places, parts, isStack ? undefined : configuration.store), places)),
      // Of a stack only the directory is restored, wherever its memory is.
      ...(isStack || isFilled ? [] : configuration.obstacles),
    ];
    const obstacles = found.filter((one) => one !== null);
    return {
      outcome: obstacles.length > 0 ? "blocked" : "possible",
      file,
      ...aboutBackup(manifest),
      directory: places.directory,
      home: places.home,
      parts,
      left_out,
      counts: {},
      tokens: [],
      archives: [],
      former_paths: configuration.formerPaths,
      goes_on_at: goesOnAt,
      obstacles,
      taken_address: isStack ? null : configuration.takenAddress,
    };
  } finally {
    await opened.close();
  }
}

/** Verifies, and keeps the two files that say where the memory goes. */
function keeping(texts: Map<string, string>): Take {
  const wanted = [CONFIG_FILE, SECRETS_FILE].map((name) => `${DIRECTORY}/${name}`);
  return async (entry, content) => {
    if (!wanted.includes(entry.name) || entry.size > LARGEST) return verifyOnly(entry, content);
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    texts.set(entry.name.slice(DIRECTORY.length + 1), Buffer.concat(chunks).toString("utf8"));
  };
}

interface ConfigurationInput {
  readonly deployment: Deployment;
  readonly manifest: Manifest;
  /** A killed restore of this backup has put its memory there. */
  readonly mayBeFull: boolean;
  readonly signal: AbortSignal;
}

interface FoundConfiguration {
  readonly obstacles: readonly (Obstacle | null)[];
  readonly formerPaths: readonly string[];
  /** Where an embedded store goes; null: into a database. */
  readonly store: string | null;
  readonly takenAddress: string | null;
}

/** Of the backup's own configuration, with its secrets: a file of it is written only without them, and for a moment. */
async function ofConfiguration(
  texts: ReadonlyMap<string, string>,
  { deployment, manifest, mayBeFull, signal }: ConfigurationInput,
): Promise<FoundConfiguration> {
  const { dir, home } = deployment;
  const folder = await mkdtemp(join(tmpdir(), "cairn-restore-"));
  try {
    const file = join(folder, CONFIG_FILE);
    await writeFile(file, texts.get(CONFIG_FILE) ?? "", { mode: 0o600 });
    const env = mergeEnvironments(parse(texts.get(SECRETS_FILE) ?? ""), process.env);
    const { loaded, errors, error } = await inspectConfig({ dir: folder, home, file, env, signal });
    if (loaded !== null) {
      const { backend, embedded } = loaded.config.memory;
      // A store inside the home is in the way as what the home holds.
      const isOwn = backend === "embedded" && within(home, embedded.path) !== null;
      const isStack = manifest.deployment.nodes !== null;
      return {
        obstacles: isOwn || isStack ? [] : [await ofStore(loaded.config, file, signal, mayBeFull)],
        formerPaths: formerPaths(loaded.config, manifest, placesOf(deployment)),
        // A path that begins at cairn.yaml leads into the directory, once that is there.
        takenAddress: await takenAddress(loaded.config.runtime.listen),
        store: backend === "postgres" ? null : resolve(dir, within(folder, embedded.path) ?? embedded.path),
      };
    }
    const [first] = errors;
    const why = first === undefined ? (error?.message ?? "it cannot be read") : `${first.path}: ${first.message}`;
    const message = `The backup's configuration is not valid on this machine: ${why}.`;
    const hint = "Set what it refers to in the environment of the command.";
    return { obstacles: [{ message, hint }], formerPaths: [], store: null, takenAddress: null };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function takenAddress(listen: string): Promise<string | null> {
  const address = parseListen(listen);
  return address === null || (await isFreePort(address)) ? null : listen;
}
