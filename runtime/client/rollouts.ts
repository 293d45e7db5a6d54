/** The routes of rollouts as functions. */

import type { RolloutLease, RolloutRecord } from "../contracts/rollout.ts";
import { type Connection, call } from "./http.ts";
import type { CallOptions } from "./types.ts";

const LEASE = "/api/admin/rollout/lease";
const ROLLOUT = "/api/admin/rollout";

export function rolloutCalls(connection: Connection) {
  return {
    /** `id`: a UUID of the holder's own making. INFRA_LOCKED, naming who has it. */
    async acquireRolloutLease(
      request: { readonly id: string; readonly holder: string },
      given?: CallOptions,
    ): Promise<RolloutLease> {
      const { ttl_ms: ttlMs, ...lease } = await call<Omit<RolloutLease, "ttlMs"> & { readonly ttl_ms: number }>(
        connection,
        LEASE,
        { method: "POST", json: request, ...given },
      );
      return { ...lease, ttlMs };
    },
    /** INFRA_LOCKED: it has run out, or is another's. */
    async renewRolloutLease(number: number, given?: CallOptions): Promise<void> {
      await call(connection, LEASE, { method: "PUT", json: { number }, ...given });
    },
    async releaseRolloutLease(number: number, given?: CallOptions): Promise<void> {
      await call(connection, `${LEASE}/release`, { method: "POST", json: { number }, ...given });
    },
    /** Newest first. */
    async rollouts(limit: number, given?: CallOptions): Promise<readonly RolloutRecord[]> {
      const { rollouts } = await call<{ readonly rollouts: readonly RolloutRecord[] }>(
        connection,
        `${ROLLOUT}?limit=${limit}`,
        given,
      );
      return rollouts;
    },
    /** INFRA_LOCKED: a later lease was granted. */
    async writeRollout(rollout: RolloutRecord, lease: number, given?: CallOptions): Promise<void> {
      await call(connection, ROLLOUT, { method: "PUT", json: { lease, rollout }, ...given });
    },
  };
}

export type RolloutCalls = ReturnType<typeof rolloutCalls>;
