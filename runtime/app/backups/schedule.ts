/**
 * Takes the scheduled backups of a store: of all its nodes the one that holds a lease, as long as it lives, so that its disk has a row
 * of them. A new one counts, and replaces an old one, once it was read back. The node after a failure is another one where there is one.
 */

import type { Database } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { backupName, nextBackup, surplusBackups } from "../../domain/backup-schedule.ts";
import type { Archives } from "../api.ts";
import type { LeaseTable } from "../leases.ts";
import type { BackupDirectory } from "./directory.ts";
import { BACKUP_LEASE, type BackupRecord, type LastBackup, recordOf } from "./record.ts";

export interface BackupScheduleDeps {
  readonly database: Pick<Database, "query" | "backend">;
  readonly leases: LeaseTable;
  readonly node: { readonly id: string; readonly name: string };
  /** See LeaseTable.acquire. */
  readonly place: string;
  readonly archives: Pick<Archives, "backup" | "verify">;
  readonly directory: BackupDirectory;
  readonly everyMs: number;
  /** At least 1. */
  readonly keep: number;
  /** While it is true, other nodes take them. */
  isDraining(): boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From the start to the first attempt: a node that has just started resumes turns first. Default a minute. */
  readonly firstAfterMs?: number;
}

const LEASE_MS = 90_000;
const RENEW_MS = 30_000;
/** How often a node looks whether one is due. */
export const BACKUP_TICK_MS = 30_000;
const FIRST_AFTER_MS = 60_000;

/** The reason of the signal under which one is taken. */
class LeaseLost extends Error {}

export class BackupSchedule {
  readonly #deps: BackupScheduleDeps;
  readonly #firstAt: number;
  /** Taken by this process, and not recorded yet. */
  #taken: LastBackup | null = null;
  /** Until then, by the monotonic clock, other nodes come first. */
  #yieldUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: BackupScheduleDeps) {
    this.#deps = deps;
    this.#firstAt = deps.clock.monotonic() + (deps.firstAfterMs ?? FIRST_AFTER_MS);
  }

  /** Takes one if it is due and this node's to take. A failed attempt is recorded; rejects only without the database. */
  async run(signal: AbortSignal): Promise<void> {
    const { leases, node, place, everyMs, isDraining, clock } = this.#deps;
    if (isDraining()) return this.release();
    if (clock.monotonic() < Math.max(this.#firstAt, this.#yieldUntil)) return;
    if ((await leases.acquire(BACKUP_LEASE, node.id, LEASE_MS, place)) === null) return;
    const record = await this.#withTaken(recordOf(await leases.read(BACKUP_LEASE)));
    const last = await this.#lastOf(record);
    const next = nextBackup({ last: last?.at ?? null, failure: record.failure }, everyMs, this.#now());
    if (this.#now() < next || (await isEmptyStore(this.#deps.database))) return;
    await this.#attempt(record, last, signal);
  }

  /** Another node may take the next one at once. */
  async release(): Promise<void> {
    await this.#deps.leases.release(BACKUP_LEASE, this.#deps.node.id).catch(() => undefined);
  }

  async #attempt(record: BackupRecord, last: LastBackup | null, signal: AbortSignal): Promise<void> {
    const { leases, node, everyMs, clock, logger } = this.#deps;
    // Also before: where the disk is full, a lower `keep` makes the room.
    await this.#removeSurplus();
    try {
      this.#taken = await this.#whileLeased(signal, (leased) => this.#take(last, leased));
    } catch (err) {
      if (signal.aborted) throw err;
      if (err instanceof LeaseLost) return logger.warn({}, "another node has taken over the scheduled backups");
      const message = err instanceof Error ? err.message : String(err);
      const hint = err instanceof CairnError ? err.details.hint : undefined;
      const { failure: before } = record;
      const at = this.#now();
      const failure = {
        since: before?.since ?? at,
        at,
        attempts: (before?.attempts ?? 0) + 1,
        message,
        ...(hint === undefined ? {} : { hint }),
        node: node.name,
      };
      if (message !== before?.message)
        logger.error({ err }, "the scheduled backup failed; older ones are kept, and it is tried again");
      await leases.note(BACKUP_LEASE, node.id, { failure });
      await this.release();
      const pauseMs = nextBackup({ last: null, failure }, everyMs, at) - at;
      this.#yieldUntil = clock.monotonic() + pauseMs + 2 * BACKUP_TICK_MS;
      return;
    }
    await this.#record(this.#taken);
    await this.#removeSurplus();
  }

  /** The record, with one of this node that could not be recorded when it was taken. */
  async #withTaken(record: BackupRecord): Promise<BackupRecord> {
    const taken = this.#taken;
    return taken !== null && taken.at > (record.last?.at ?? 0) ? this.#record(taken) : record;
  }

  async #record(last: LastBackup): Promise<BackupRecord> {
    const record = { last, failure: null };
    await this.#deps.leases.note(BACKUP_LEASE, this.#deps.node.id, record);
    this.#taken = null;
    return record;
  }

  async #take(before: LastBackup | null, signal: AbortSignal): Promise<LastBackup> {
    const { archives, directory, node, logger } = this.#deps;
    const { name, at, bytes } = await directory.write({
      name: backupName(this.#now()),
      bytes: archives.backup(signal),
      expectedBytes: (before?.bytes ?? 0) + (await this.#copiedBytes()),
      verify: archives.verify,
      signal,
    });
    logger.info({ name, bytes }, "the memory was backed up");
    return { name, at, bytes, node: node.name, node_id: node.id };
  }

  /** An embedded store is partly copied beside the archive, uncompressed: at most about its size. */
  async #copiedBytes(): Promise<number> {
    const { database } = this.#deps;
    if (database.backend === "postgres") return 0;
    const { rows } = await database.query<{ bytes: number }>(
      "select pg_database_size(current_database())::float8 as bytes",
    );
    return rows[0]?.bytes ?? 0;
  }

  async #removeSurplus(): Promise<void> {
    const { directory, keep, logger } = this.#deps;
    try {
      for (const name of surplusBackups(await directory.list(), keep, this.#now())) await directory.remove(name);
    } catch (err) {
      logger.warn({ err }, "older backups could not be deleted; the next one tries again");
    }
  }

  /** Of this node only as long as its file is there. */
  async #lastOf({ last }: BackupRecord): Promise<LastBackup | null> {
    const { node, directory } = this.#deps;
    if (last?.node_id !== node.id) return last;
    const gone = await directory.pathOf(last.name).then(() => false, isNotFound);
    return gone ? null : last;
  }

  async #whileLeased<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { leases, node, place, logger } = this.#deps;
    const lost = new AbortController();
    const renewing = setInterval(() => {
      leases.acquire(BACKUP_LEASE, node.id, LEASE_MS, place).then(
        (epoch) => epoch === null && lost.abort(new LeaseLost()),
        (err: unknown) => logger.warn({ err }, "the lease of the backup could not be renewed; it is tried again"),
      );
    }, RENEW_MS);
    try {
      return await work(AbortSignal.any([signal, lost.signal]));
    } catch (error) {
      // An abort has many forms on its way through streams.
      throw lost.signal.aborted ? lost.signal.reason : error;
    } finally {
      clearInterval(renewing);
    }
  }

  #now(): number {
    return this.#deps.clock.now().getTime();
  }
}

/** A directory that cannot be read is no reason to take one more: the next attempt says what is wrong with it. */
function isNotFound(error: unknown): boolean {
  return error instanceof CairnError && error.code === "RUNTIME_NOT_FOUND";
}

/** Nothing was ever said. */
export async function isEmptyStore(database: Pick<Database, "query">): Promise<boolean> {
  const { rows } = await database.query<{ readonly full: boolean }>(
    "select exists (select 1 from conversations) or exists (select 1 from inbox) as full",
  );
  return rows[0]?.full !== true;
}
