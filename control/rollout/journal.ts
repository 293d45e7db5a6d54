/** A write-ahead journal of a change of nodes: written before and after each step. */

import { readFile, rm } from "node:fs/promises";
import type { z } from "zod";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { writeDurably } from "../../runtime/files/durable.ts";
import type { StepRecord, StepState } from "./steps.ts";

/** What every journal has, besides what its change needs to resume. */
export interface JournalContent<Name extends string> {
  readonly steps: readonly StepRecord<Name>[];
}

/** Null where no change is under way. INFRA_STATE_UNREADABLE, with `hint`, when the file cannot be understood. */
export async function readJournalFile<Content>(
  path: string,
  schema: z.ZodType<Content>,
  hint: string,
): Promise<Content | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new InfraError("INFRA_STATE_UNREADABLE", `${path} cannot be used: it is no journal of an update.`, {
      cause,
      hint,
    });
  }
}

/** Where a journal is kept. */
export interface JournalStore<Content> {
  /** Durable when it resolves. */
  write(content: Content): Promise<void>;
  /** The change is over, either way: nothing is left to resume. */
  close(content: Content): Promise<void>;
}

/** A file for as long as the change is under way. */
export function journalFile<Content>(path: string): JournalStore<Content> {
  return {
    write: (content) => writeDurably(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 }),
    close: () => rm(path, { force: true }),
  };
}

/** Writes each step down around its work. */
export class Journal<Name extends string, Content extends JournalContent<Name>> {
  readonly #store: JournalStore<Content>;
  readonly #now: () => Date;
  #entry: Content;
  /** The newest write: nodes that are changed at the same time record one after the other. */
  #written: Promise<void> = Promise.resolve();
  #broken = false;

  private constructor(store: JournalStore<Content>, now: () => Date, entry: Content) {
    this.#store = store;
    this.#now = now;
    this.#entry = entry;
  }

  static async begin<Name extends string, Content extends JournalContent<Name>>(
    store: JournalStore<Content>,
    now: () => Date,
    entry: Content,
  ): Promise<Journal<Name, Content>> {
    const made = new Journal<Name, Content>(store, now, entry);
    await made.#write();
    return made;
  }

  static resume<Name extends string, Content extends JournalContent<Name>>(
    store: JournalStore<Content>,
    now: () => Date,
    entry: Content,
  ): Journal<Name, Content> {
    return new Journal<Name, Content>(store, now, entry);
  }

  get entry(): Content {
    return this.#entry;
  }

  /** Whether something could not be written: then it says less than was done. */
  get broken(): boolean {
    return this.#broken;
  }

  /** An error that `isFailure` does not accept cuts the step off: the next run begins it again. */
  async step<T>(name: Name, work: () => Promise<T>, isFailure: (error: unknown) => boolean = () => true): Promise<T> {
    await this.#add(name, "begun");
    try {
      const result = await work();
      await this.#add(name, "done");
      return result;
    } catch (error) {
      if (isFailure(error)) await this.#add(name, "failed");
      throw error;
    }
  }

  /** The change is over, either way. `last`: what its end adds. */
  async close(last: Partial<Content> = {}): Promise<void> {
    this.#entry = { ...this.#entry, ...last };
    await this.#store.close(this.#entry);
  }

  async #add(name: Name, state: StepState): Promise<void> {
    const step = { name, state, at: this.#now().toISOString() };
    this.#entry = { ...this.#entry, steps: [...this.#entry.steps, step] };
    await this.#write();
  }

  #write(): Promise<void> {
    const content = this.#entry;
    this.#written = this.#written
      .catch(() => undefined)
      .then(() => this.#store.write(content))
      .catch((error: unknown) => {
        this.#broken = true;
        throw error;
      });
    return this.#written;
  }
}
