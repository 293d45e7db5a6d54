/**
 * Takes a memory from one backend to the other: an archive of the source, restored into the empty target and compared there, then
 * the configuration. Killed at any step, the same command goes on. docs/decisions/060-moving-a-memory.md
 */

import { createReadStream } from "node:fs";
import { readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Client } from "../../../runtime/client/index.ts";
import { CairnError, MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { syncDirectory, writeDurably } from "../../../runtime/files/durable.ts";
import { replaceConfiguration } from "../../configuration/replace.ts";
import { bytes as inWords } from "../../output/words.ts";
import { counted, writeWhole } from "../../service/byte-files.ts";
import { withShortLivedNode } from "../../service/connect.ts";
import { refuseDeployed, refuseUndeployed } from "../../service/deployed-node.ts";
import type { Deployment } from "../../service/deployment.ts";
import { difference, type Manifest, readManifest } from "./manifest.ts";
import { type Backend, currentBackend, type MovePlan, moveDirectory, otherThan, planMove } from "./plan.ts";
import { hasStore, refuseNode, refuseUnusable } from "./preflight.ts";

export interface MoveResult {
  /** `nothing`: the configuration names the target, and there is nothing beside it to be moved. */
  readonly outcome: "moved" | "nothing";
  readonly from: Backend;
  readonly to: Backend;
  /** Rows of each section of the archive, as they are in the target now. */
  readonly counts: Readonly<Record<string, number>>;
  /** Whether cairn.yaml names another backend than before. */
  readonly config_changed: boolean;
  /** Where the embedded store is that was moved; null where the source was a server. */
  readonly former_store: string | null;
}

export interface MoveOptions {
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

/**
 * RUNTIME_CONFLICT while a node runs; MEMORY_STORE_NOT_EMPTY, MEMORY_UNAVAILABLE, MEMORY_SCHEMA_MISMATCH for a target that cannot
 * be used: nothing is changed then. The source is only read.
 */
export async function moveMemory(deployment: Deployment, to: Backend, options: MoveOptions): Promise<MoveResult> {
  const { signal, onStep } = options;
  await refuseDeployed(deployment);
  await refuseUndeployed(deployment);
  const from = otherThan(to);
  const nothing: MoveResult = { outcome: "nothing", from, to, counts: {}, config_changed: false, former_store: null };
  // The server that a configuration does not name is not looked for.
  if (to === "embedded" && (await currentBackend(deployment, signal)) === to) return nothing;
  await refuseNode(deployment, signal, () => onStep("Waiting for the process that has the home directory"));
  const directory = moveDirectory(deployment);
  await clear(directory);
  try {
    const plan = await planMove(deployment, to, signal);
    if (!(await hasStore(plan.source))) {
      if (plan.change === null) {
        // A move that was killed after its last step.
        await rm(join(directory, STARTED), { force: true });
        return nothing;
      }
      throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no embedded store yet, and nothing to move.", {
        hint: `\`cairn config --yes --memory ${to}\` changes the backend.`,
      });
    }
    for (const side of [plan.target, plan.source]) await refuseUnusable(side, signal);
    const started = await wasStarted(directory, to);
    await refuseFull(deployment, plan, started, options);
    const source = await archiveSource(deployment, plan, options);
    await writeDurably(join(directory, STARTED), to, { mode: 0o600 });
    onStep("Opening the target");
    // Its node keeps every other one out of the home until all is done.
    const formerStore = await withShortLivedNode(
      deployment,
      signal,
      async (client) => {
        await fill(client, source, started, options);
        return reconcile(deployment, plan);
      },
      plan.target.file,
    );
    await rm(join(directory, STARTED), { force: true });
    const counts = Object.fromEntries(source.manifest.map(({ name, count }) => [name, count]));
    return { outcome: "moved", from, to, counts, config_changed: plan.change !== null, former_store: formerStore };
  } finally {
    await clear(directory);
  }
}

const ARCHIVE = "archive";
/** Names the target that a restore was begun into: what is in it then may be a move that was cut off after that. */
const STARTED = "started";

interface Source {
  readonly path: string;
  readonly bytes: number;
  readonly manifest: Manifest;
}

/** The archive has all that was said in it. What stays is that a restore was begun. */
async function clear(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) if (name !== STARTED) await rm(join(directory, name), { force: true });
  // Not while it holds that.
  await rmdir(directory).catch(() => undefined);
}

async function wasStarted(directory: string, to: Backend): Promise<boolean> {
  return (await readFile(join(directory, STARTED), "utf8").catch(() => "")) === to;
}

/** Before the source is read, which may take long. */
async function refuseFull(
  deployment: Deployment,
  { target }: MovePlan,
  started: boolean,
  { signal, onStep }: MoveOptions,
): Promise<void> {
  if (started || !(await hasStore(target))) return;
  onStep("Looking at the target");
  const { messages } = await withShortLivedNode(
    deployment,
    signal,
    (client) => client.memoryTool<{ readonly messages: { readonly total: number } }>("memory_stats", {}, { signal }),
    target.file,
  );
  if (messages.total > 0) throw notEmpty(`${messages.total} messages are in it`);
}

async function archiveSource(
  deployment: Deployment,
  { source }: MovePlan,
  { signal, onStep }: MoveOptions,
): Promise<Source> {
  const path = join(moveDirectory(deployment), ARCHIVE);
  onStep("Opening the source");
  const bytes = await withShortLivedNode(
    deployment,
    signal,
    (client) =>
      writeWhole(path, client.backup({ signal }), {
        force: true,
        onBytes: (total) => onStep(`Reading the source: ${inWords(total)}`),
      }),
    source.file,
  );
  return { path, bytes, manifest: await readManifest(createReadStream(path)) };
}

/** Restores, unless an earlier run has, and compares what is there with the archive. */
async function fill(client: Client, source: Source, started: boolean, { signal, onStep }: MoveOptions): Promise<void> {
  let isNew = true;
  try {
    const onBytes = (total: number): void =>
      onStep(
        total < source.bytes ? `Sending: ${inWords(total)} of ${inWords(source.bytes)}` : "Writing into the target",
      );
    await client.restore(counted(createReadStream(source.path), onBytes), { signal, tokens: true });
  } catch (error) {
    if (!(started && error instanceof CairnError && error.code === "MEMORY_STORE_NOT_EMPTY")) throw error;
    isNew = false;
  }
  onStep("Comparing");
  const different = difference(source.manifest, await readManifest(client.backup({ signal })));
  if (different === null) return;
  if (!isNew) throw notEmpty(different);
  throw new MemoryError("MEMORY_ARCHIVE_INVALID", `The target does not hold what the source does (${different}).`, {
    hint: "The configuration and the source are as they were. Empty the target, and run the command again.",
  });
}

/** The configuration, and then the name of the store that is left. Where that is. */
async function reconcile({ file }: Deployment, { source, change }: MovePlan): Promise<string | null> {
  if (change !== null) await replaceConfiguration({ file, ...change });
  if (source.backend !== "embedded") return null;
  const { path } = source.config.memory.embedded;
  const moved = `${path}.moved-${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}`;
  try {
    await rename(path, moved);
    await syncDirectory(dirname(path));
    return moved;
  } catch {
    // A mounted directory keeps its name; doctor tells of it.
    return path;
  }
}

function notEmpty(what: string): MemoryError {
  return new MemoryError("MEMORY_STORE_NOT_EMPTY", `The target is not empty: ${what}.`, {
    hint:
      "Nothing was changed. A memory goes into an empty one only: make another database, or drop and make this one anew; " +
      "an embedded store that is not wanted is moved away by renaming its directory.",
  });
}
