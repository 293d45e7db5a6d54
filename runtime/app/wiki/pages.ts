/** The wiki's files in a workspace: one writer at a time, each file replaced as a whole, nothing outside of the folder. */

import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import writeFileAtomic from "write-file-atomic";
import { ToolError } from "../../contracts/errors.ts";
import { mergeIndex, mergePage, type PageFacts, type PageUpdate, pageFacts } from "../../domain/wiki/page.ts";
import { slugOf } from "../../domain/wiki/slug.ts";
import { isWithin } from "../../domain/workspace-path.ts";

export interface WikiPages {
  /** Titles of the pages that there are, the ones changed last first. */
  titles(): Promise<readonly string[]>;
  /** Merges each update into the page of its title, and the index; answers how many pages that were. */
  write(updates: readonly PageUpdate[], signal: AbortSignal): Promise<number>;
}

export interface WikiPagesDeps {
  readonly workspace: string;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const WIKI_FOLDER = "wiki";
const INDEX = "index.md";
/** Pages whose front matter is read for the index. */
const MOST_PAGES = 5_000;
/** A page that grew beyond this by somebody else's hand is left alone. */
const LONGEST_FILE = 2_000_000;
const LOCK_PAUSE_MS = 50;

export function createWikiPages({ workspace, sleep }: WikiPagesDeps): WikiPages {
  const folder = join(workspace, WIKI_FOLDER);

  return {
    async titles() {
      if (!(await isThere(folder))) return [];
      await assertInside(workspace, folder);
      const pages = await readPages(folder);
      return pages.sort((a, b) => (a.updated < b.updated ? 1 : -1)).map(({ title }) => title);
    },

    async write(updates, signal) {
      await mkdir(folder, { recursive: true });
      await assertInside(workspace, folder);
      return locked(folder, { sleep, signal }, async () => {
        const bySlug = Map.groupBy(updates, ({ title }) => slugOf(title));
        for (const [slug, ofPage] of bySlug) {
          const path = join(folder, `${slug}.md`);
          const before = await readOwn(path);
          const after = ofPage.reduce((text: string | null, update, n) => {
            // Two titles may have one file: what the first has said must not be replaced by the second.
            const merged = n === 0 ? update : { ...update, statements: [...statementsOf(ofPage, n)] };
            return mergePage(text, merged);
          }, before);
          if (after !== null && after !== before) await writeFileAtomic(path, after, { mode: 0o644 });
        }
        const index = join(folder, INDEX);
        const listed = await readOwn(index);
        const next = mergeIndex(listed, await readPages(folder));
        if (next !== listed) await writeFileAtomic(index, next, { mode: 0o644 });
        return bySlug.size;
      });
    },
  };
}

function* statementsOf(updates: readonly PageUpdate[], until: number): Generator<string> {
  for (const { statements } of updates.slice(0, until + 1)) yield* statements;
}

async function readPages(folder: string): Promise<(PageFacts & { readonly slug: string })[]> {
  const names = (await readdir(folder)).filter((name) => /^[a-z0-9-]+\.md$/.test(name) && name !== INDEX).sort();
  const pages: (PageFacts & { readonly slug: string })[] = [];
  for (const name of names.slice(0, MOST_PAGES)) {
    const text = await readOwn(join(folder, name)).catch(() => null);
    const facts = text === null ? null : pageFacts(text);
    if (facts !== null) pages.push({ ...facts, slug: name.slice(0, -".md".length) });
  }
  return pages;
}

/** Null where no file is. A link, a directory or a huge file is nothing that the runtime would have made. */
async function readOwn(path: string): Promise<string | null> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (found === null) return null;
  if (!found.isFile()) throw refused(`${path} is no regular file.`);
  if (found.size > LONGEST_FILE) throw refused(`${path} is larger than ${LONGEST_FILE} bytes.`);
  return readFile(path, "utf8");
}

/** The folder must not lead out of the workspace by a link. */
async function assertInside(workspace: string, folder: string): Promise<void> {
  const [root, real] = await Promise.all([realpath(workspace), realpath(folder)]);
  if (!isWithin(root, real)) throw refused(`${folder} leads out of the workspace.`);
}

function refused(message: string): ToolError {
  return new ToolError("TOOL_OUTSIDE_WORKSPACE", message, {
    hint: "Put a folder of regular files there, or move what is there away; then `cairn memory retry-failed --task extract-wiki`.",
  });
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** While the lock is held no other process of this wiki writes; the system gives it back when a process dies. */
async function locked<T>(
  folder: string,
  { sleep, signal }: Pick<WikiPagesDeps, "sleep"> & { readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const file = await open(join(folder, ".lock"), constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    while (!tryLock(file.fd)) await sleep(LOCK_PAUSE_MS, signal);
    signal.throwIfAborted();
    return await work();
  } finally {
    await file.close();
  }
}
