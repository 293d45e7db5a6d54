/**
 * The wiki's files in a workspace: one writer at a time, each file replaced as a whole. Agents can write to the workspace, so
 * the folder is held open while it is used and everything goes through its handle: nothing put in its place is followed.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { ToolError } from "../../contracts/errors.ts";
import type { WikiPageRecord } from "../../contracts/reading.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { mergeIndex, mergePage, type PageUpdate, pageFacts, withdrawSources } from "../../domain/wiki/page.ts";
import { slugOf } from "../../domain/wiki/slug.ts";
import { temporaryName, writeAtomically } from "../../files/atomic-write.ts";
import { listEntries, type OpenDirectory, openBelow, openRoot } from "../../files/directory.ts";
import { readTextIn } from "../../files/read-file.ts";
import { FileRefused, refusalOf } from "../../files/refusal.ts";

export interface WikiPages {
  /** The pages that there are, the ones changed last first. */
  list(): Promise<readonly WikiPageRecord[]>;
  /** A page by its file's name or by its title; null where there is none. */
  read(page: string): Promise<(WikiPageRecord & { readonly text: string }) | null>;
  /** Titles of the pages that there are, the ones changed last first. */
  titles(): Promise<readonly string[]>;
  /** Merges each update into the page of its title, and the index; answers how many pages that were. */
  write(updates: readonly PageUpdate[], signal: AbortSignal): Promise<number>;
  /** Takes out of every page what these summaries alone have said; what people wrote stays. */
  withdraw(summaries: ReadonlySet<string>, now: Date, signal: AbortSignal): Promise<void>;
}

export interface WikiPagesDeps {
  readonly workspace: string;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const WIKI_FOLDER = "wiki";
const INDEX = "index.md";
const LOCK = ".lock";
/** Pages whose front matter is read for the index. */
const MOST_PAGES = 5_000;
/** A page that another editor has grown beyond this is left as it is. */
const LONGEST_FILE = 2_000_000;
const LOCK_PAUSE_MS = 50;

export function createWikiPages({ workspace, sleep }: WikiPagesDeps): WikiPages {
  async function list(): Promise<readonly WikiPageRecord[]> {
    const folder = await openFolder(workspace, false);
    if (folder === null) return [];
    await using _ = folder;
    const pages = await readPages(folder);
    return pages.sort((a, b) => (a.updated < b.updated ? 1 : -1));
  }

  return {
    list,

    async read(page) {
      const folder = await openFolder(workspace, false);
      if (folder === null) return null;
      await using _ = folder;
      // A title may read like another page's file name: that one is meant then.
      for (const slug of new Set([...(isPage(`${page}.md`) ? [page] : []), slugOf(page)])) {
        const text = await readOwn(folder, `${slug}.md`);
        const facts = text === null ? null : pageFacts(text);
        if (text !== null && facts !== null) return { slug, ...facts, text };
      }
      return null;
    },

    async titles() {
      return (await list()).map(({ title }) => title);
    },

    async write(updates, signal) {
      await mkdir(workspace, { recursive: true });
      const opened = await openFolder(workspace, true);
      if (opened === null) throw refused(join(workspace, WIKI_FOLDER), "it was removed while it was being opened");
      await using folder = opened;
      return await locked(folder, { sleep, signal }, async () => {
        const bySlug = Map.groupBy(updates, ({ title }) => slugOf(title));
        for (const [slug, ofPage] of bySlug) {
          const name = `${slug}.md`;
          const before = await readOwn(folder, name);
          const after = ofPage.reduce((text: string | null, update, n) => {
            // Two titles may have one file: what the first has said must not be replaced by the second.
            const merged = n === 0 ? update : { ...update, statements: [...statementsOf(ofPage, n)] };
            return mergePage(text, merged);
          }, before);
          if (after !== null && after !== before) await replace(folder, name, after);
        }
        await writeIndex(folder);
        return bySlug.size;
      });
    },

    async withdraw(summaries, now, signal) {
      const opened = await openFolder(workspace, false);
      if (opened === null) return;
      await using folder = opened;
      await locked(folder, { sleep, signal }, async () => {
        for (const { slug } of await readPages(folder)) {
          const name = `${slug}.md`;
          const before = await readOwn(folder, name);
          const after = before === null ? null : withdrawSources(before, summaries, now);
          if (after !== null && after !== before) await replace(folder, name, after);
        }
        if ((await readOwn(folder, INDEX)) !== null) await writeIndex(folder);
      });
    },
  };
}

async function writeIndex(folder: OpenDirectory): Promise<void> {
  const listed = await readOwn(folder, INDEX);
  const next = mergeIndex(listed, await readPages(folder));
  if (next !== listed) await replace(folder, INDEX, next);
}

function* statementsOf(updates: readonly PageUpdate[], until: number): Generator<string> {
  for (const { statements } of updates.slice(0, until + 1)) yield* statements;
}

function isPage(file: string): boolean {
  return /^[a-z0-9-]+\.md$/.test(file) && file !== INDEX;
}

async function readPages(folder: OpenDirectory): Promise<WikiPageRecord[]> {
  const names = (await listEntries(folder)).map(({ name }) => name).filter(isPage);
  const pages: WikiPageRecord[] = [];
  for (const name of names.slice(0, MOST_PAGES)) {
    const text = await readOwn(folder, name).catch(() => null);
    const facts = text === null ? null : pageFacts(text);
    if (facts !== null) pages.push({ slug: name.slice(0, -".md".length), ...facts });
  }
  return pages;
}

/** Null where no file is. A link, a second name of a file or a huge file is nothing that the runtime would have made. */
async function readOwn(folder: OpenDirectory, name: string): Promise<string | null> {
  return explained(join(folder.path, name), () => readTextIn(folder, name, { maxBytes: LONGEST_FILE }));
}

async function replace(folder: OpenDirectory, name: string, text: string): Promise<void> {
  await explained(join(folder.path, name), () =>
    writeAtomically(folder, name, Buffer.from(text, "utf8"), { temporary: temporaryName(randomUUID()) }),
  );
}

/** Null where there is none, unless it is to be made. Refused where a link or a file stands in its place. */
async function openFolder(workspace: string, create: boolean): Promise<OpenDirectory | null> {
  try {
    await using root = await openRoot(workspace);
    return await explained(join(workspace, WIKI_FOLDER), () => openBelow(root, [WIKI_FOLDER], create));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** What is refused has a path and a way out; other errors are the file system's own. */
async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof FileRefused || code === "ELOOP" || code === "ENOTDIR") throw refused(path, refusalOf(error));
    throw error;
  }
}

function refused(path: string, reason: string): ToolError {
  return new ToolError("TOOL_OUTSIDE_WORKSPACE", `${path}: ${reason}.`, {
    hint: "Put a folder of regular files there, or move what is there away; then `cairn memory retry-failed --task extract-wiki`.",
  });
}

/** While the lock is held no other process of this wiki writes; the system gives it back when a process dies. */
async function locked<T>(
  folder: OpenDirectory,
  { sleep, signal }: Pick<WikiPagesDeps, "sleep"> & { readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await explained(join(folder.path, LOCK), () =>
    open(folder.at(LOCK), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600),
  );
  try {
    while (!tryLock(file.fd)) await sleep(LOCK_PAUSE_MS, signal);
    signal.throwIfAborted();
    return await work();
  } finally {
    await file.close();
  }
}
