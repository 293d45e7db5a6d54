/** What a backup says of itself: the manifest is its first entry, what was packed its last one. The names of the entries between. */

import { z } from "zod";
import { MemoryError } from "../../runtime/contracts/errors.ts";

/** Of the file. A reader refuses one that it does not know. */
export const FORMAT = 1;
export const MANIFEST = "manifest.json";
export const SUMMARY = "parts.json";
/** The archive of the one memory; that of a node with a memory of its own is `nodes/NAME/memory.backup`. */
export const MEMORY = "memory.backup";
/** Home and workspaces of a deployed node, a tar archive with gzip: `nodes/NAME/files.tar.gz`. */
export const NODE_FILES = "files.tar.gz";
/** First part of an entry's name: what is restored below the deployment directory, below the home, and kept as archives. */
export const DIRECTORY = "directory";
export const HOME = "home";
export const NODES = "nodes";

const count = z.number().int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const memory = z.object({
  /** Name of the entry. */
  entry: z.string(),
  /** Node that has it for itself; null: all have this one. */
  node: z.string().nullable(),
  bytes: count,
  sha256,
});

/** Loose: a later version may say more in the same format. */
const manifest = z.looseObject({
  cairn_backup: z.literal(FORMAT),
  /** Names this backup. */
  id: z.string(),
  /** Of the program that made it. */
  version: z.string(),
  /** Of the memory. */
  schema_version: count,
  created_at: z.string(),
  deployment: z.looseObject({
    target: z.string(),
    backend: z.enum(["embedded", "postgres"]),
    /** Of the deployed stack; null where the node was one of the machine itself. */
    nodes: z.array(z.string()).nullable(),
    /** Where they were: absolute paths, for a person. */
    directory: z.string(),
    home: z.string(),
  }),
  memories: z.array(memory).min(1),
});

const leftOut = z.strictObject({ path: z.string(), reason: z.string() });

const part = z.strictObject({
  /** The first part of its entries' names. */
  name: z.string(),
  files: count,
  bytes: count,
  /** Over its entries in their order: what a header says, and the content. */
  sha256,
});

export const summary = z.object({ parts: z.array(part), left_out: z.array(leftOut) });

export type Manifest = z.infer<typeof manifest>;
export type MemoryPart = z.infer<typeof memory>;
export type Part = z.infer<typeof part>;
export type LeftOut = z.infer<typeof leftOut>;
export type Summary = z.infer<typeof summary>;

/** MEMORY_ARCHIVE_INVALID for what is none, and for another format. */
export function parseManifest(text: string): Manifest {
  const value = jsonOf(text);
  const format = z.looseObject({ cairn_backup: z.number() }).safeParse(value);
  if (format.success && format.data.cairn_backup !== FORMAT) {
    throw invalid(`its format ${format.data.cairn_backup} is not known to this version`);
  }
  const { success, data } = manifest.safeParse(value);
  if (!success) throw invalid("it does not begin as one");
  return data;
}

/** MEMORY_ARCHIVE_INVALID for anything else. */
export function parseSummary(text: string): Summary {
  const { success, data } = summary.safeParse(jsonOf(text));
  if (!success) throw invalid("the list of its parts was altered");
  return data;
}

export function invalid(why: string, cause?: unknown): MemoryError {
  return new MemoryError("MEMORY_ARCHIVE_INVALID", `The backup cannot be used: ${why}.`, {
    ...(cause === undefined ? {} : { cause }),
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
