/** `update.json` in the home directory: what an update is about to do, and what it has done. Written before and after each step. */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";
import { InfraError } from "../../runtime/contracts/errors.ts";

/** In order; the last three only go back. */
export const STEPS = [
  "stage",
  "packages",
  "build",
  "switch",
  "restart",
  "gate",
  "tree",
  "back",
  "restart-former",
  "gate-former",
] as const;
export type StepName = (typeof STEPS)[number];

const build = z.strictObject({ version: z.string(), commit: z.string() });

const journal = z.strictObject({
  schema: z.literal(1),
  /** Source tree. */
  root: z.string(),
  /** `prebuilt`: from an archive; its checksum stands for the commit, and the tree is left alone. */
  source: z.enum(["git", "prebuilt"]).default("git"),
  from: build,
  to: build.extend({ tag: z.string() }),
  /** Folder with the new build. */
  stage: z.string(),
  /** Folder of package.json of the build that served before. */
  former: z.string(),
  /** What ran the node. */
  keeper: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("own") }),
    z.strictObject({ kind: z.literal("systemd"), unit: z.string(), scope: z.enum(["system", "user"]) }),
  ]),
  move: z.enum(["none", "fast-forward", "checkout"]),
  /** Whether a node ran when it began, and is to be restarted. */
  restart: z.boolean(),
  started_at: z.string(),
  steps: z.array(z.strictObject({ name: z.enum(STEPS), state: z.enum(["begun", "done", "failed"]), at: z.string() })),
});

export type JournalEntry = z.infer<typeof journal>;

export function journalPath(home: string): string {
  return join(home, "update.json");
}

/** Null where no update is under way. INFRA_STATE_UNREADABLE when the file cannot be understood. */
export async function readJournal(home: string): Promise<JournalEntry | null> {
  const path = journalPath(home);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return journal.parse(JSON.parse(text));
  } catch (cause) {
    throw new InfraError("INFRA_STATE_UNREADABLE", `${path} cannot be used: it is no journal of an update.`, {
      cause,
      hint: "Look at what `cairn version` and `git status` say of the source tree, then remove the file.",
    });
  }
}

/** Writes each step down around its work. */
export class Journal {
  readonly #home: string;
  readonly #now: () => Date;
  #entry: JournalEntry;

  private constructor(home: string, now: () => Date, entry: JournalEntry) {
    this.#home = home;
    this.#now = now;
    this.#entry = entry;
  }

  static async begin(home: string, now: () => Date, entry: JournalEntry): Promise<Journal> {
    const made = new Journal(home, now, entry);
    await made.#write();
    return made;
  }

  static resume(home: string, now: () => Date, entry: JournalEntry): Journal {
    return new Journal(home, now, entry);
  }

  get entry(): JournalEntry {
    return this.#entry;
  }

  async step<T>(name: StepName, work: () => Promise<T>): Promise<T> {
    await this.#add(name, "begun");
    try {
      const result = await work();
      await this.#add(name, "done");
      return result;
    } catch (error) {
      await this.#add(name, "failed");
      throw error;
    }
  }

  /** The update is over, either way. */
  async close(): Promise<void> {
    await rm(journalPath(this.#home), { force: true });
  }

  async #add(name: StepName, state: JournalEntry["steps"][number]["state"]): Promise<void> {
    const step = { name, state, at: this.#now().toISOString() };
    this.#entry = { ...this.#entry, steps: [...this.#entry.steps, step] };
    await this.#write();
  }

  #write(): Promise<void> {
    return writeFileAtomic(journalPath(this.#home), `${JSON.stringify(this.#entry, null, 2)}\n`, { mode: 0o600 });
  }
}

/** How a step ended that was begun last; null: it never began. */
export function stateOf({ steps }: JournalEntry, name: StepName): JournalEntry["steps"][number]["state"] | null {
  return steps.findLast((step) => step.name === name)?.state ?? null;
}
