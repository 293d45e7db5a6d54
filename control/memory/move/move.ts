/**
 * Takes a memory from one backend to the other: an archive of the source, restored into the empty target and compared there, then
 * the configuration. Killed at any step, the same command goes on. docs/decisions/060-moving-a-memory.md
 */

import { createReadStream } from "node:fs";
import { readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Client } from "../../../runtime/client/index.ts";
import { lockForMove } from "../../../runtime/config/index.ts";
import { CairnError, MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { syncDirectory } from "../../../runtime/files/durable.ts";
import { replaceConfiguration } from "../../configuration/replace.ts";
import { bytes as inWords, soFar } from "../../output/words.ts";
import { counted, writeWhole } from "../../service/byte-files.ts";
import { withShortLivedNode } from "../../service/connect.ts";
import { refuseDeployed, refuseUndeployed } from "../../service/deployed-node.ts";
import type { Deployment } from "../../service/deployment.ts";
import { difference, isSame, type Manifest, readManifest } from "./manifest.ts";
import { type Backend, currentBackend, type MovePlan, moveDirectory, otherThan, planMove } from "./plan.ts";
import { hasStore, refuseNode, refuseUnusable } from "./preflight.ts";
import { forgetStarted, readStarted, STARTED, type Started, writeStarted } from "./started.ts";

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
  const lock = lockForMove(deployment.home);
  if (lock === null) {
    throw new RuntimeError("RUNTIME_CONFLICT", "Another command moves this memory.", { hint: "Wait for its end." });
  }
  try {
    await refuseNode(deployment, signal, () => onStep("Waiting for the process that has the home directory"));
    return await moveLocked(deployment, to, options);
  } finally {
    lock.release();
  }
}

async function moveLocked(deployment: Deployment, to: Backend, options: MoveOptions): Promise<MoveResult> {
  const { signal, onStep } = options;
  const from = otherThan(to);
  const nothing: MoveResult = { outcome: "nothing", from, to, counts: {}, config_changed: false, former_store: null };
  const directory = moveDirectory(deployment);
  await clear(directory);
  const started = await readStarted(directory, to);
  // The server that a configuration does not name is not looked for.
  if (to === "embedded" && (await currentBackend(deployment, signal)) === to) {
    await forgetStarted(directory);
    return nothing;
  }
  try {
    const plan = await planMove(deployment, to, { store: started?.store ?? null, signal });
    if (!(await hasStore(plan.source))) {
      if (plan.change === null) {
        await forgetStarted(directory);
        return nothing;
      }
      throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no embedded store yet, and nothing to move.", {
        hint: `\`cairn config --yes --memory ${to}\` changes the backend.`,
      });
    }
    for (const side of [plan.target, plan.source]) await refuseUnusable(side, signal);
    await refuseFull(deployment, plan, started, options);
    const source = await archiveSource(deployment, plan, options);
    const { manifest } = source;
    // What an earlier run has restored counts only as long as nothing was said in the source since.
    const former = started !== null && isSame(started.manifest, manifest) ? started : null;
    const store = plan.source.backend === "embedded" ? plan.source.config.memory.embedded.path : null;
    const moved = { ...nothing, outcome: "moved", counts: countsOf(manifest) } as const;
    if (former?.compared && plan.change === null) {
      // Killed between the configuration and the name of the former store. The target may have been used since.
      const formerStore = await renameStore(store);
      await forgetStarted(directory);
      return { ...moved, former_store: formerStore };
    }
    const note: Started = { to, manifest, store, compared: false };
    // The target may hold what an earlier run has restored: its note stays, so that this is never taken for what the source has now.
    if (started === null || former !== null) await writeStarted(directory, note);
    onStep("Opening the target");
    // Its node keeps every other one out of the home until all is done.
    const formerStore = await withShortLivedNode(
      deployment,
      signal,
      async (client) => {
        await fill(client, source, { plan, restored: former !== null }, options);
        await writeStarted(directory, { ...note, compared: true });
        if (plan.change !== null) await replaceConfiguration({ file: deployment.file, ...plan.change });
        return renameStore(store);
      },
      plan.target.file,
    );
    await forgetStarted(directory);
    return { ...moved, config_changed: plan.change !== null, former_store: formerStore };
  } finally {
    await clear(directory);
  }
}

const ARCHIVE = "archive";

interface Source {
  readonly path: string;
  readonly bytes: number;
  readonly manifest: Manifest;
}

/** The archive has all that was said in it. What stays is the note of a restore that was begun. */
async function clear(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) if (name !== STARTED) await rm(join(directory, name), { force: true });
  // Not while it holds that.
  await rmdir(directory).catch(() => undefined);
}

function countsOf(manifest: Manifest): MoveResult["counts"] {
  return Object.fromEntries(manifest.map(({ name, count }) => [name, count]));
}

/** Before the source is read, which may take long. */
async function refuseFull(
  deployment: Deployment,
  plan: MovePlan,
  started: Started | null,
  { signal, onStep }: MoveOptions,
): Promise<void> {
  const { target } = plan;
  if (started !== null || !(await hasStore(target))) return;
  onStep("Looking at the target");
  const { messages } = await withShortLivedNode(
    deployment,
    signal,
    (client) => client.memoryTool<{ readonly messages: { readonly total: number } }>("memory_stats", {}, { signal }),
    target.file,
  );
  if (messages.total > 0) throw notEmpty(`${messages.total} messages are in it`, plan);
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
        onBytes: (total) => onStep(soFar("Reading the source", total)),
      }),
    source.file,
  );
  return { path, bytes, manifest: await readManifest(createReadStream(path)) };
}

/** Restores, unless an earlier run has, and compares what is there with the archive. */
async function fill(
  client: Client,
  source: Source,
  { plan, restored }: { readonly plan: MovePlan; readonly restored: boolean },
  { signal, onStep }: MoveOptions,
): Promise<void> {
  let isNew = true;
  try {
    const onBytes = (total: number): void =>
      onStep(
        total < source.bytes ? `Sending: ${inWords(total)} of ${inWords(source.bytes)}` : "Writing into the target",
      );
    await client.restore(counted(createReadStream(source.path), onBytes), { signal, tokens: true });
  } catch (error) {
    if (!(error instanceof CairnError && error.code === "MEMORY_STORE_NOT_EMPTY")) throw error;
    if (!restored) throw notEmpty("it does not hold what the source does now", plan);
    isNew = false;
  }
  onStep("Comparing");
  const different = difference(source.manifest, await readManifest(client.backup({ signal })));
  if (different === null) return;
  if (!isNew) throw notEmpty(different, plan);
  throw new MemoryError("MEMORY_ARCHIVE_INVALID", `The target does not hold what the source does (${different}).`, {
    hint: "The configuration and the source are as they were. Empty the target, and run the command again.",
  });
}

/** Gives an embedded store that was moved another name. Where it is then; null where the source was a server. */
async function renameStore(path: string | null): Promise<string | null> {
  if (path === null) return null;
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

function notEmpty(what: string, { change, source }: MovePlan): MemoryError {
  if (change === null) {
    // The configuration names the target: what was said there is the memory in use.
    const store = source.backend === "embedded" ? source.config.memory.embedded.path : "the former database";
    return new MemoryError("MEMORY_STORE_NOT_EMPTY", `The memory in use is not empty: ${what}.`, {
      hint: `Nothing was changed: two memories are not joined. Where ${store} is not wanted any more, rename or delete it.`,
    });
  }
  return new MemoryError("MEMORY_STORE_NOT_EMPTY", `The target is not empty: ${what}.`, {
    hint:
      "Nothing was changed. A memory goes into an empty one only: make another database, or drop and make this one anew; " +
      "an embedded store that is not wanted is moved away by renaming its directory.",
  });
}
