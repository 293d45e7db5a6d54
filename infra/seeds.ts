/**
 * Reads the workspace files that travel into containers: regular text files of a bounded size. What is left out is reported, and
 * what holds a secret is left out: plans are printed and compared.
 */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Issue } from "../runtime/contracts/errors.ts";
import { codeOf } from "../runtime/contracts/system-errors.ts";
import { listEntries, type OpenDirectory, openBelow, openRoot } from "../runtime/files/directory.ts";
import { type FileContent, readFileIn } from "../runtime/files/read-file.ts";
import { FileRefused, refusalOf } from "../runtime/files/refusal.ts";
import { type SeedFile, type WorkspaceRoot, within } from "./plan/workspaces.ts";

/** Bytes of one file, and of all together: what a ConfigMap holds, with room for the configuration. */
const LARGEST_FILE = 256 * 1024;
const LARGEST_TOTAL = 768 * 1024;
/** Entries that are read before the directory is taken for no workspace. */
const MOST_ENTRIES = 2_000;
/** A shorter value cannot be distinguished from ordinary text. */
const SHORTEST_SECRET = 6;

export interface SeedsInput {
  readonly roots: readonly WorkspaceRoot[];
  /** Deployment directory: a workspace that contains it is not copied. */
  readonly dir: string;
  /** Values that must not travel this way. */
  readonly secrets: readonly string[];
  readonly signal?: AbortSignal;
}

export interface Seeds {
  readonly files: readonly SeedFile[];
  readonly warnings: readonly Issue[];
}

interface Found {
  readonly files: SeedFile[];
  readonly warnings: Issue[];
  bytes: number;
  entries: number;
}

export async function readSeeds({ roots, dir, secrets, signal }: SeedsInput): Promise<Seeds> {
  const found: Found = { files: [], warnings: [], bytes: 0, entries: 0 };
  const values = secrets.filter((value) => value.length >= SHORTEST_SECRET);
  const deployment = await realpath(dir).catch(() => dir);
  for (const { name, source } of roots) {
    const real = await realpath(source).catch(() => null);
    if (real === null) continue;
    if (within(real, deployment) !== null) {
      found.warnings.push({
        path: source,
        message: "holds the deployment directory itself: it is not copied to the nodes",
      });
      continue;
    }
    const place = { root: name, directory: real, path: "", values, ...(signal ? { signal } : {}) };
    await using opened = await openRoot(real).catch((error: unknown) => unreadable(found, real, error));
    if (opened !== null) await readDirectory(found, place, opened);
  }
  return { files: found.files, warnings: found.warnings };
}

interface SeedDirectory {
  readonly root: string;
  /** Resolved directory of the root. */
  readonly directory: string;
  /** Relative to it; empty for itself. */
  readonly path: string;
  readonly values: readonly string[];
  readonly signal?: AbortSignal;
}

function unreadable(found: Found, path: string, error: unknown): null {
  found.warnings.push({ path, message: `${refusalOf(error)}: it is not copied` });
  return null;
}

/** In the order of names, so that the same files make the same plan. */
async function readDirectory(found: Found, place: SeedDirectory, opened: OpenDirectory): Promise<void> {
  const { directory, path, root } = place;
  const entries = await listEntries(opened).catch((error: unknown) => unreadable(found, join(directory, path), error));
  for (const entry of entries ?? []) {
    place.signal?.throwIfAborted();
    if (entry.name.startsWith(".")) continue;
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    const leaveOut = (message: string) =>
      found.warnings.push({ path: join(directory, inner), message: `${message}: it is not copied` });
    if (++found.entries > MOST_ENTRIES) {
      if (found.entries === MOST_ENTRIES + 1) leaveOut(`there are more than ${MOST_ENTRIES} files`);
      return;
    }
    if (hasUnsafeName(entry.name)) leaveOut("its name cannot be kept on every target");
    else if (entry.isDirectory()) {
      const where = join(directory, inner);
      await using folder = await openBelow(opened, [entry.name]).catch((error: unknown) =>
        unreadable(found, where, error),
      );
      if (folder !== null) await readDirectory(found, { ...place, path: inner }, folder);
    } else if (!entry.isFile()) leaveOut(entry.isSymbolicLink() ? "it is a symbolic link" : "it is no regular file");
    else {
      const content = await readText(opened, entry.name);
      const bytes = Buffer.byteLength(content.text ?? "");
      if (content.text === null) leaveOut(content.reason);
      else if (place.values.some((value) => content.text.includes(value))) leaveOut("it holds the value of a secret");
      else if (found.bytes + bytes > LARGEST_TOTAL) leaveOut("all files together are more than 768 KiB");
      else {
        found.bytes += bytes;
        found.files.push({ root, path: inner, content: content.text });
      }
    }
  }
}

type Content = { readonly text: string } | { readonly text: null; readonly reason: string };

async function readText(directory: OpenDirectory, name: string): Promise<Content> {
  const refused = (reason: string): Content => ({ text: null, reason });
  let content: FileContent;
  try {
    content = await readFileIn(directory, name, { maxBytes: LARGEST_FILE });
  } catch (error) {
    if (error instanceof FileRefused && error.reason === "too_large") return refused("it is larger than 256 KiB");
    return refused(codeOf(error) === "ENOENT" ? "it was removed meanwhile" : refusalOf(error));
  }
  const text = content.bytes.toString("utf8");
  // Text that is read and written again must be what it was.
  if (text.includes("\0") || !Buffer.from(text, "utf8").equals(content.bytes)) return refused("it is no text");
  return { text };
}

/** Control characters and what file systems and archives disagree about. */
function hasUnsafeName(name: string): boolean {
  return /[\p{Cc}\\:*?"<>|]/u.test(name) || Buffer.byteLength(name) > 200 || !name.isWellFormed();
}
