/**
 * Brings the operator's workspace files to the agents when a node starts in a container: from a read-only folder onto the
 * volume that the agents work on. What was placed is noted there before and after, so that a start that is cut off at any
 * point is finished by the next one, and a version of the operator's is never taken for an agent's work.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Logger } from "../contracts/ports.ts";
import { decideSeed, type SeedRecord, type SeedTarget } from "../domain/workspace-seed.ts";

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
const TEMPORARY = ".workspace-seed.tmp";
const MOST_FILES = 5_000;
const DEEPEST = 32;

const recordFile = z.object({
  schema: z.literal(1),
  files: z.record(z.string(), z.object({ placed: z.string().nullable(), pending: z.string().nullable() })),
});

/** Never rejects because of one file: what cannot be copied is logged, and the node starts all the same. */
export async function seedWorkspaces({ seed, root, workspaces, logger, volume }: SeedOptions): Promise<void> {
  const target = volume ?? fileVolume(root);
  for (const directory of workspaces.filter((path) => path.startsWith(`${root}/`))) {
    await mkdir(directory, { recursive: true }).catch((error: unknown) => {
      logger.warn({ path: directory, code: codeOf(error) }, "a workspace cannot be made");
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
      const decision = decideSeed(hash, await look(root, path), records.get(path));
      if (decision.action === "note") records.set(path, { placed: hash, pending: null });
      else if (decision.action === "place") {
        records.set(path, decision.record);
        wanted.push({ path, content, hash });
      } else if (decision.conflict) {
        logger.warn({ path }, "a workspace file was changed here and by the operator: the one here stays");
      }
    } catch (error) {
      logger.warn({ path, code: errnoOf(error) }, "a workspace file cannot be compared");
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
  await save(target, root, records, before);
  const between = Object.fromEntries(records);
  for (const { path, content, hash } of wanted) {
    try {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await target.place(path, content);
      records.set(path, { placed: hash, pending: null });
    } catch (error) {
      logger.warn({ path, code: errnoOf(error) }, "a workspace file cannot be written");
    }
  }
  await save(target, root, records, between);
  if (wanted.length > 0) logger.info({ files: wanted.length }, "workspace files of the operator were copied");
}

async function save(
  volume: SeedVolume,
  root: string,
  records: ReadonlyMap<string, SeedRecord>,
  was: Records,
): Promise<void> {
  const files = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
  if (isDeepStrictEqual(files, was)) return;
  await mkdir(root, { recursive: true });
  await volume.place(RECORD, Buffer.from(`${JSON.stringify({ schema: 1, files }, null, 2)}\n`));
}

/** A record that cannot be read makes every file that differs an agent's: nothing is lost, and conflicts are told. */
async function readRecords(root: string, logger: SeedOptions["logger"]): Promise<Records> {
  const path = join(root, RECORD);
  try {
    return recordFile.parse(JSON.parse(await readFile(path, "utf8"))).files;
  } catch (error) {
    if (codeOf(error) !== "ENOENT")
      logger.warn({ path, code: codeOf(error) }, "the record of workspace files is unreadable");
    return {};
  }
}

/** What stands at a path below the root. A link anywhere on the way makes it something that is not touched. */
async function look(root: string, path: string): Promise<SeedTarget> {
  const parts = path.split("/");
  for (let depth = 1; depth < parts.length; depth++) {
    const folder = await kindOf(join(root, ...parts.slice(0, depth)));
    if (folder === "missing") return { kind: "missing" };
    if (folder !== "folder") return { kind: "other" };
  }
  const kind = await kindOf(join(root, path));
  if (kind === "missing") return { kind };
  if (kind !== "file") return { kind: "other" };
  const handle = await open(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return { kind: "file", hash: hashOf(await handle.readFile()) };
  } finally {
    await handle.close();
  }
}

async function kindOf(path: string): Promise<"missing" | "file" | "folder" | "other"> {
  try {
    const stats = await lstat(path);
    return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "missing";
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

/** Written beside the workspaces, where no agent sees it half done, and then moved. */
function fileVolume(root: string): SeedVolume {
  const temporary = join(root, TEMPORARY);
  return {
    async place(path, content) {
      // What an earlier start has left, be it a link.
      await rm(temporary, { force: true });
      const handle = await open(temporary, "wx", 0o644);
      try {
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, join(root, path));
    },
  };
}

function hashOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

/** The code of a file system's error; anything else is a mistake of ours and goes on up. */
function errnoOf(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  throw error;
}
