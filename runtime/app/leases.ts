/** Leases in the database: one holder a name, by the database's clock; taking one over raises its epoch, which fences the holder before. */

import type { Database } from "../contracts/database.ts";

export interface LeaseTable {
  /** The lease's epoch when the caller has it now (taken, renewed or taken over after it ran out); null while another holds it. */
  /**
   * With a `place`, a lease of the same place is taken over at once: it says that only one holder can be alive there.
   */
  acquire(name: string, holder: string, ttlMs: number, place?: string): Promise<number | null>;
  /** Ends the lease at once, so that the next holder need not wait for it to run out. */
  release(name: string, holder: string): Promise<void>;
  /** Names of the leases with this prefix that have not expired, of any holder. */
  held(prefix: string): Promise<readonly string[]>;
  /** What holders have written beside the lease; undefined where there never was one. It outlives them. */
  read(name: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Writes beside the lease, over what has the same keys; false when another holds it by now. */
  note(name: string, holder: string, data: Readonly<Record<string, unknown>>): Promise<boolean>;
}

/** Beside the lease: when it was granted or renewed last. In the `set` of an update of `data`. */
export const GRANTED_NOW = "jsonb_build_object('granted_at', now())";

/**
 * What was granted later than now was granted before the database's clock was set back: it lasts for its whole time from now on, so
 * that who lives can renew it. The end is compared, too, because a node of an earlier version renews without saying when.
 */
const SET_BACK = `/* lease:set-back */ update leases set
    expires_at = now() + (expires_at - (data->>'granted_at')::timestamptz), data = data || ${GRANTED_NOW}
  where (data->>'granted_at')::timestamptz > now() and expires_at > (data->>'granted_at')::timestamptz`;

export function createLeaseTable(database: Database): LeaseTable {
  return {
    async acquire(name, holder, ttlMs, place = "") {
      const { rows } = await database.query<{ epoch: number }>(
        `/* lease:acquire */ insert into leases (name, holder, expires_at, data)
         values ($1, $2, now() + $3 * interval '1 millisecond', jsonb_build_object('place', $4::text) || ${GRANTED_NOW})
         on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at,
           data = leases.data || excluded.data,
           epoch = leases.epoch + (case when leases.holder = excluded.holder then 0 else 1 end)
         where leases.holder = excluded.holder or leases.expires_at < now()
           or ($4 <> '' and leases.data->>'place' = $4)
         returning epoch`,
        [name, holder, ttlMs, place],
      );
      if (rows[0]) return Number(rows[0].epoch);
      await database.query(SET_BACK);
      return null;
    },
    async release(name, holder) {
      await database.query(
        "/* lease:release */ update leases set expires_at = '-infinity' where name = $1 and holder = $2",
        [name, holder],
      );
    },
    async held(prefix) {
      const { rows } = await database.query<{ name: string }>(
        "/* lease:held */ select name from leases where starts_with(name, $1) and expires_at > now()",
        [prefix],
      );
      return rows.map(({ name }) => name);
    },
    async read(name) {
      const { rows } = await database.query<{ data: Readonly<Record<string, unknown>> }>(
        "/* lease:read */ select data from leases where name = $1",
        [name],
      );
      return rows[0]?.data;
    },
    async note(name, holder, data) {
      const { count } = await database.query(
        "/* lease:note */ update leases set data = data || $3::jsonb where name = $1 and holder = $2",
        [name, holder, JSON.stringify(data)],
      );
      return count > 0;
    },
  };
}
