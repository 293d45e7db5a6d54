/** Restores the memory of a backup by a short-lived node of the filled directory, before that has its name. */

import { createReadStream } from "node:fs";
import { join } from "node:path";
import { within } from "../../../infra/plan/workspaces.ts";
import type { Client } from "../../../runtime/client/index.ts";
import { CONFIG_FILE, type Config, loadConfig } from "../../../runtime/config/index.ts";
import { CairnError, MemoryError } from "../../../runtime/contracts/errors.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import { planEdit } from "../../configuration/edit.ts";
import { difference, readManifest } from "../../memory/move/manifest.ts";
import { refuseUnusable } from "../../memory/move/preflight.ts";
import { soFar } from "../../output/words.ts";
import { counted } from "../../service/byte-files.ts";
import { withShortLivedNode } from "../../service/connect.ts";
import { applyChanges, memorySettings } from "../../wizard/settings.ts";
import { type RestorePaths, targetsOf } from "./places.ts";
import type { Staging } from "./staging.ts";

export interface RestoredMemory {
  readonly counts: Readonly<Record<string, number>>;
  /** Names of the API tokens that work again. */
  readonly tokens: readonly string[];
}

export interface RestoreMemoryInput {
  readonly staging: Staging;
  readonly places: RestorePaths;
  /** Id of the backup. */
  readonly backup: string;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

/**
 * The configuration's own errors; MEMORY_UNAVAILABLE, MEMORY_SCHEMA_MISMATCH, RUNTIME_CONFLICT of a server that cannot be used;
 * MEMORY_STORE_NOT_EMPTY where something else is in the store.
 */
export async function restoreMemory(input: RestoreMemoryInput): Promise<RestoredMemory> {
  const { staging, backup, signal, onStep } = input;
  const staged = { dir: staging.directory, home: staging.home };
  const file = join(staging.directory, CONFIG_FILE);
  const { config } = await loadConfig({ ...staged, signal });
  await refuseUnusable({ backend: config.memory.backend, config, file }, signal);
  const other = await otherConfiguration(input, config);
  const wasBegun = staging.pending?.backup === backup;
  await staging.write({ backup, step: "memory", counts: {}, tokens: [], archives: [], parts: [], left_out: [] });
  onStep("Opening the store");
  return withShortLivedNode(staged, signal, (client) => fill(client, { ...input, wasBegun }), other);
}

/** True where what a restore has put there stays when the filled directory is removed. */
export async function isStoreElsewhere({ staging, signal }: RestoreMemoryInput): Promise<boolean> {
  const { config } = await loadConfig({ dir: staging.directory, home: staging.home, signal });
  const { backend, embedded } = config.memory;
  return (
    backend === "postgres" || [staging.directory, staging.home].every((root) => within(root, embedded.path) === null)
  );
}

/** An absolute path of the store that leads into the target would make the target before its time. */
async function otherConfiguration(
  { staging, places, signal }: RestoreMemoryInput,
  { memory: { backend, embedded } }: Config,
): Promise<string | undefined> {
  if (backend === "postgres") return undefined;
  const target = targetsOf(places).find((one) => within(one, embedded.path) !== null);
  if (target === undefined) return undefined;
  const filled = target === places.directory ? staging.directory : staging.home;
  const path = join(filled, within(target, embedded.path) ?? "");
  const deployment = { dir: staging.directory, home: staging.home, file: join(staging.directory, CONFIG_FILE) };
  const { after } = await planEdit(
    deployment,
    (document) =>
      applyChanges(document, memorySettings({ memory: "embedded" }), [
        { path: ["memory", "embedded"], value: { path } },
      ]),
    { signal },
  );
  await writeDurably(staging.configuration, after, { mode: 0o600 });
  return staging.configuration;
}

async function fill(
  client: Client,
  { staging, wasBegun, signal, onStep }: RestoreMemoryInput & { readonly wasBegun: boolean },
): Promise<RestoredMemory> {
  const archive = (): AsyncIterable<Uint8Array> => createReadStream(staging.archive);
  try {
    const onBytes = (total: number): void => onStep(soFar("Restoring the memory", total));
    // What a passphrase has sealed is ours: clients' tokens work again.
    const { counts, tokens } = await client.restore(counted(archive(), onBytes), { signal, tokens: true });
    return { counts, tokens: tokens.restored.filter(({ revoked }) => !revoked).map(({ name }) => name) };
  } catch (error) {
    if (!(error instanceof CairnError && error.code === "MEMORY_STORE_NOT_EMPTY")) throw error;
    if (!wasBegun) throw notEmpty("something was said in it already");
  }
  // A restore that was killed may have done it all.
  onStep("Comparing what is in the store");
  const manifest = await readManifest(archive());
  const different = difference(manifest, await readManifest(client.backup({ signal })));
  if (different !== null) throw notEmpty(different);
  const tokens = await client.listTokens({ signal });
  return {
    counts: Object.fromEntries(manifest.map(({ name, count }) => [name, count])),
    tokens: tokens.flatMap(({ name, revoked_at }) => (revoked_at === null ? [name] : [])),
  };
}

function notEmpty(what: string): MemoryError {
  return new MemoryError(
    "MEMORY_STORE_NOT_EMPTY",
    `The store that the backup's configuration names is not empty: ${what}.`,
    {
      hint: "Nothing was changed. Empty that database, or move that store away, and run the command again.",
    },
  );
}
