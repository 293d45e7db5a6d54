/**
 * Brings the operator's workspace files to the agents when a node starts in a container: from a read-only folder onto the
 * volume that the agents work on. What was placed is noted there before and after, so that a start that is cut off at any
 * point is finished by the next one, and a version of the operator's is never taken for an agent's work.
 */

import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Logger } from "../contracts/ports.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { decideSeed, type SeedRecord, type SeedTarget } from "../domain/workspace-seed.ts";
import { writeAtomically } from "../files/atomic-write.ts";
import { type OpenDirectory, openBelow, openRoot } from "../files/directory.ts";
import { hashOf } from "../files/durable.ts";
import { readBelow } from "../files/read-file.ts";
import { FileRefused, refusalOf } from "../files/refusal.ts";

export interface SeedOptions {
  /** Folder with the operator's versions (SERVICE_WORKSPACE_SEED). */
  readonly seed: string;
  /** Folder of the volume (SERVICE_WORKSPACE_ROOT): the same paths below it. */
  readonly root: string;
  /** Directories that agents expect to be there; made when they are missing and lie below `root`. */
  readonly workspaces: readonly string[];
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Default: the file system. */
  readonly volume?: SeedVolume;
}

/** What is written on the volume. Each call is atomic: done, or not begun. */
export interface SeedVolume {
  /** Puts the content at the path, in one step; the directory is there. */
  place(path: string, content: Buffer): Promise<void>;
}

/** By path below the root. */
type Records = Readonly<Record<string, SeedRecord>>;

const RECORD = ".workspace-seed.json";
/** In the folder of the file that is placed; one that a killed start has left there is removed by the next. */
const TEMPORARY = ".workspace-seed.tmp";
/** Of one file that is compared, and of the record: a larger one is not the operator's. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_FILES = 5_000;
const DEEPEST = 32;

const recordFile = z.object({
  schema: z.literal(1),
  files: z.record(z.string(), z.object({ placed: z.string().nullable(), pending: z.string().nullable() })),
});

/** Never rejects because of one file: what cannot be copied is logged, and the node starts all the same. */
export async function seedWorkspaces({ seed, root, workspaces, logger, volume }: SeedOptions): Promise<void> {
  const target = volume ?? fileVolume(root);
  await mkdir(root, { recursive: true });
  for (const directory of workspaces.filter((path) => path.startsWith(`${root}/`))) {
    await makeFolder(root, directory.slice(root.length + 1)).catch((error: unknown) => {
      logger.warn({ path: directory, reason: refusalOf(error) }, "a workspace cannot be made");
    });
  }
  const paths = await filesBelow(seed);
  if (paths.length === 0) return;
  const before = await readRecords(root, logger);
  const records = new Map(Object.entries(before));
  const wanted: Wanted[] = [];
  for (const path of paths) {
    try {
      const content = await readFile(join(seed, path));
      const hash = hashOf(content);
      const decision = decideSeed(hash, await inspectTarget(root, path), records.get(path));
      if (decision.action === "note") records.set(path, { placed: hash, pending: null });
      else if (decision.action === "place") {
        records.set(path, decision.record);
        wanted.push({ path, content, hash });
      } else if (decision.conflict) {
        logger.warn({ path }, "a workspace file was changed here and by the operator: the one here stays");
      }
    } catch (error) {
      logger.warn({ path, reason: refusalOf(error) }, "a workspace file cannot be compared");
    }
  }
  await place(wanted, { root, target, records, before, logger });
}

interface Wanted {
  readonly path: string;
  readonly content: Buffer;
  readonly hash: string;
}

interface Work {
  readonly root: string;
  readonly target: SeedVolume;
  readonly records: Map<string, SeedRecord>;
  readonly before: Records;
  readonly logger: SeedOptions["logger"];
}

async function place(wanted: readonly Wanted[], { root, target, records, before, logger }: Work): Promise<void> {
  // First what may be there from now on; when all is done, what is there.
  await save(target, root, records, before, logger);
  const between = Object.fromEntries(records);
  for (const { path, content, hash } of wanted) {
    try {
      await makeFolder(root, path.split("/").slice(0, -1).join("/"));
      await target.place(path, content);
      records.set(path, { placed: hash, pending: null });
    } catch (error) {
      logger.warn({ path, reason: refusalOf(error) }, "a workspace file cannot be written");
    }
  }
  await save(target, root, records, between, logger);
  if (wanted.length > 0) logger.info({ files: wanted.length }, "workspace files of the operator were copied");
}

async function save(
  volume: SeedVolume,
  root: string,
  records: ReadonlyMap<string, SeedRecord>,
  was: Records,
  logger: SeedOptions["logger"],
): Promise<void> {
  const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
  if (isDeepStrictEqual(files, was)) return;
  const record = Buffer.from(`${JSON.stringify({ schema: 1, files }, null, 2)}\n`);
  try {
    await volume.place(RECORD, record);
  } catch (error) {
    logger.warn(
      { path: join(root, RECORD), reason: refusalOf(error) },
      "the record of workspace files cannot be written",
    );
  }
}

/** A record that cannot be read makes every file that differs an agent's: nothing is lost, and conflicts are logged. */
async function readRecords(root: string, logger: SeedOptions["logger"]): Promise<Records> {
  try {
    const { bytes } = await readBelow(root, [RECORD], { maxBytes: MOST_BYTES });
    return recordFile.parse(JSON.parse(bytes.toString("utf8"))).files;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      const reason = error instanceof FileRefused ? error.message : (codeOf(error) ?? "no valid record");
      logger.warn({ path: join(root, RECORD), reason }, "the record of workspace files is unreadable");
    }
    return {};
  }
}

/** The entry at a path below the root. A link anywhere on the way makes it something that is not touched. */
async function inspectTarget(root: string, path: string): Promise<SeedTarget> {
  try {
    const { bytes, cut } = await readBelow(root, path.split("/"), { maxBytes: MOST_BYTES, larger: "cut" });
    return { kind: "file", hash: cut ? "" : hashOf(bytes) };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return { kind: "missing" };
    if (error instanceof FileRefused || code === "ENOTDIR" || code === "ELOOP") return { kind: "other" };
    throw error;
  }
}

/**
 * Relative paths, sorted. Links are followed on this side: a cluster mounts its files as links into a hidden folder, which is
 * itself passed over with everything else whose name begins with a dot.
 */
async function filesBelow(directory: string, prefix = "", depth = 0): Promise<string[]> {
  if (depth > DEEPEST) return [];
  const names = await readdir(join(directory, prefix)).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const found: string[] = [];
  for (const name of names.filter((candidate) => !candidate.startsWith(".")).sort()) {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const stats = await stat(join(directory, path)).catch(() => null);
    if (stats?.isDirectory()) found.push(...(await filesBelow(directory, path, depth + 1)));
    else if (stats?.isFile()) found.push(path);
    if (found.length >= MOST_FILES) return found.slice(0, MOST_FILES);
  }
  return found;
}

/** Agents can write to the volume: every folder is opened by a handle, and none through a link. */
function fileVolume(root: string): SeedVolume {
  return {
    async place(path, content) {
      const parts = path.split("/");
      await using folder = await openFolder(root, parts.slice(0, -1));
      // What an earlier start has left, be it a link.
      await rm(folder.at(TEMPORARY), { force: true });
      await writeAtomically(folder, parts.at(-1) ?? path, content, { temporary: TEMPORARY });
    },
  };
}

async function makeFolder(root: string, path: string): Promise<void> {
  await using _ = await openFolder(root, path === "" ? [] : path.split("/"));
}

async function openFolder(root: string, components: readonly string[]): Promise<OpenDirectory> {
  const start = await openRoot(root);
  if (components.length === 0) return start;
  await using _ = start;
  return await openBelow(start, components, true);
}
