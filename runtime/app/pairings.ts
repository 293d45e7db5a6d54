/**
 * Who beside the owner may write to a channel: a stranger is given a code once an hour, the owner approves it. Few at a time may ask, and
 * only what the owner has approved is ever admitted.
 */

import type { Admission, Stranger } from "../contracts/channel.ts";
import type { Database } from "../contracts/database.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { PairingRecord } from "../contracts/pairing.ts";
import { sanitize } from "../domain/cap.ts";
import { normalizeCode, pairingCode, shownCode } from "../domain/pairing-code.ts";

export interface Pairings {
  admit(stranger: Stranger): Promise<Admission>;
  /** Those who have asked and may be approved still first, the newest first. */
  list(): Promise<readonly PairingRecord[]>;
  /** RUNTIME_NOT_FOUND where no request that is open has the code. */
  approve(code: string): Promise<PairingRecord>;
  /** Nothing is taken of this person from now on. RUNTIME_NOT_FOUND. */
  revoke(channel: string, user: string): Promise<PairingRecord>;
  /** Requests that were not approved in time. */
  prune(): Promise<void>;
}

/** Open requests of a channel: further ones are not answered. */
const MOST_OPEN = 10;
const CODE_LASTS = "1 hour";
const MOST_NAME = 100;
/** Of the channel $1. */
const IS_FULL = `((select count(*) from pairings where channel = $1 and expires_at > now()) >= ${MOST_OPEN})`;

interface Row {
  readonly channel: string;
  readonly user_id: string;
  readonly name: string;
  readonly requested_at: Date;
  readonly expires_at: Date | null;
  readonly approved_at: Date | null;
}

const COLUMNS = "channel, user_id, name, requested_at, expires_at, approved_at";

export function createPairings(deps: {
  readonly database: Pick<Database, "query" | "transaction">;
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Uint8Array;
}): Pairings {
  const { database, randomBytes } = deps;

  /** Null: it has an open request already, or too many others have. */
  async function request({ channel, user, name }: Stranger): Promise<string | null> {
    return database.transaction(async (tx) => {
      await tx.query("select pg_advisory_xact_lock(hashtext($1))", [`pairings:${channel}`]);
      const { rows } = await tx.query<{ code: string }>(
        `/* pairing:request */ insert into pairings (channel, user_id, name, code, expires_at)
         select $1, $2, $3, $4, now() + interval '${CODE_LASTS}'
         where not ${IS_FULL}
         on conflict (channel, user_id) do update
           set name = excluded.name, code = excluded.code, requested_at = now(), expires_at = excluded.expires_at
           where pairings.expires_at <= now()
         returning code`,
        [channel, user, sanitize(name).slice(0, MOST_NAME).toWellFormed(), pairingCode(randomBytes(8))],
      );
      return rows[0]?.code ?? null;
    });
  }

  return {
    async admit(stranger) {
      const { rows } = await database.query<{ admitted: boolean; may_ask: boolean }>(
        `/* pairing:admit */ select count(approved_at) > 0 as admitted,
           count(*) filter (where expires_at > now()) = 0 and not ${IS_FULL} as may_ask
         from pairings where channel = $1 and user_id = $2`,
        [stranger.channel, stranger.user],
      );
      if (rows[0]?.admitted) return { admitted: true };
      // Repeated attempts cost one statement a message.
      if (!rows[0]?.may_ask || !stranger.mayAsk) return { admitted: false, code: null };
      const code = await request(stranger);
      if (code === null) return { admitted: false, code };
      return {
        admitted: false,
        code: shownCode(code),
        async withdraw() {
          await database.query(
            "/* pairing:withdraw */ delete from pairings where channel = $1 and user_id = $2 and code = $3",
            [stranger.channel, stranger.user, code],
          );
        },
      };
    },
    async list() {
      const { rows } = await database.query<Row>(
        `/* pairing:list */ select ${COLUMNS} from pairings where approved_at is not null or expires_at > now()
         order by approved_at is not null, coalesce(approved_at, requested_at) desc, channel, user_id`,
      );
      return rows.map(toRecord);
    },
    async approve(code) {
      const { rows } = await database.query<Row>(
        `/* pairing:approve */ update pairings set approved_at = now(), code = null, expires_at = null
         where code = $1 and expires_at > now() returning ${COLUMNS}`,
        [normalizeCode(code)],
      );
      if (rows[0]) return toRecord(rows[0]);
      throw new RuntimeError("RUNTIME_NOT_FOUND", "Nobody who has asked within the last hour has this code.", {
        hint: "`cairn pairing list` shows who has asked; who writes again is given another code.",
      });
    },
    async revoke(channel, user) {
      const { rows } = await database.query<Row>(
        `/* pairing:revoke */ delete from pairings where channel = $1 and user_id = $2 returning ${COLUMNS}`,
        [channel, user],
      );
      if (rows[0]) return toRecord(rows[0]);
      throw new RuntimeError(
        "RUNTIME_NOT_FOUND",
        `Nobody with the id ${user} was admitted to the channel ${channel}.`,
        {
          hint: "`cairn pairing list` shows who is.",
        },
      );
    },
    async prune() {
      await database.query("/* pairing:prune */ delete from pairings where expires_at < now() - interval '1 day'");
    },
  };
}

function toRecord({ channel, user_id, name, requested_at, expires_at, approved_at }: Row): PairingRecord {
  return {
    channel,
    user: user_id,
    name,
    requested_at: requested_at.toISOString(),
    expires_at: expires_at?.toISOString() ?? null,
    approved_at: approved_at?.toISOString() ?? null,
  };
}
