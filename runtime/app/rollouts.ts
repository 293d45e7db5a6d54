/** The right to roll out the nodes that share the database, and the journals of rollouts: both in that database, by its clock. */

import type { Database } from "../contracts/database.ts";
import { InfraError } from "../contracts/errors.ts";
import type { NewId } from "../contracts/ports.ts";
import type { RolloutLease, RolloutRecord } from "../contracts/rollout.ts";
import { sanitize } from "../domain/cap.ts";
import { GRANTED_NOW, type LeaseTable } from "./leases.ts";

export interface Rollouts {
  /** `id`: of the holder's own making, so that it may ask again; `holder`: as it is shown. INFRA_LOCKED, naming who has it. */
  acquire(id: string, holder: string): Promise<RolloutLease>;
  /** INFRA_LOCKED: it has run out, or is another's. */
  renew(number: number): Promise<void>;
  release(number: number): Promise<void>;
  /** INFRA_LOCKED: a later lease was granted. */
  requireNewest(number: number): Promise<void>;
  /** Newest first. */
  list(limit: number): Promise<readonly RolloutRecord[]>;
  /** Replaces the record of the same id. INFRA_LOCKED: a later lease was granted. */
  write(record: RolloutRecord, number: number): Promise<void>;
}

const LEASE = "rollout";
const TTL_MS = 30_000;
/** Records that are kept. */
const KEEP = 100;

export function createRollouts(deps: {
  readonly database: Database;
  readonly leases: LeaseTable;
  readonly newId: NewId;
}): Rollouts {
  const { database, leases, newId } = deps;

  async function locked(): Promise<InfraError> {
    const holder = (await leases.read(LEASE))?.["holder"];
    const who = typeof holder === "string" ? ` by ${holder}` : "";
    return new InfraError("INFRA_LOCKED", `The fleet is being changed${who}.`, {
      hint: "Wait until it is done. A holder that died loses its lease after 30 seconds.",
    });
  }

  return {
    async acquire(id, holder) {
      const number = await leases.acquire(LEASE, id, TTL_MS);
      if (number === null) throw await locked();
      const named = (await leases.read(LEASE))?.["fleet"];
      const fleet = typeof named === "string" ? named : newId();
      if (!(await leases.note(LEASE, id, { holder, fleet }))) throw await locked();
      return { fleet, number, ttlMs: TTL_MS };
    },
    async renew(number) {
      const { count } = await database.query(
        `/* rollout:renew */ update leases set expires_at = now() + $3 * interval '1 millisecond', data = data || ${GRANTED_NOW}
         where name = $1 and epoch = $2 and expires_at > now()`,
        [LEASE, number, TTL_MS],
      );
      if (count === 0) throw await locked();
    },
    async release(number) {
      await database.query(
        "/* rollout:release */ update leases set expires_at = '-infinity' where name = $1 and epoch = $2",
        [LEASE, number],
      );
    },
    async requireNewest(number) {
      const { rows } = await database.query(
        "/* rollout:newest */ select 1 from leases where name = $1 and epoch = $2",
        [LEASE, number],
      );
      if (rows.length === 0) throw await locked();
    },
    async list(limit) {
      const { rows } = await database.query<{ entry: RolloutRecord }>(
        "/* rollout:list */ select entry from rollouts order by number desc limit $1",
        [limit],
      );
      return rows.map(({ entry }) => entry);
    },
    async write(record, number) {
      // The lock on the lease's row: who takes it over waits until this is written, and reads it.
      const { count } = await database.query(
        `/* rollout:write */ with held as (select 1 from leases where name = $1 and epoch = $2 for share)
         insert into rollouts (id, entry) select $3, $4::jsonb from held
         on conflict (id) do update set entry = excluded.entry, written_at = now()`,
        [LEASE, number, record.id, JSON.stringify(record, storable)],
      );
      if (count === 0) throw await locked();
      await database.query(
        `/* rollout:prune */ delete from rollouts where number <= (select max(number) from rollouts) - $1`,
        [KEEP],
      );
    },
  };
}

/** Why a rollout ended may have a program's last words in it. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === "string" ? sanitize(value) : value;
}
