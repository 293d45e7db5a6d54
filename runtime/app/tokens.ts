/**
 * Who may call the HTTP routes: the owner's token from the configuration, and tokens kept hashed in the store. The few
 * stored ones are held in memory for seconds, so that no number of wrong tokens becomes a load on the store, and the
 * owner gets in when the store is down.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { Database } from "../contracts/database.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";
import type { Clock, NewId } from "../contracts/ports.ts";
import { type Principal, SCOPES, type Scope, type Tokens } from "./api.ts";

export interface TokenDeps {
  readonly database: Pick<Database, "query" | "transaction">;
  /** SERVICE_API_TOKEN; without it only stored tokens are valid. */
  readonly ownerToken?: string;
  readonly newId: NewId;
  readonly clock: Clock;
  /** Cryptographically strong. */
  readonly randomBytes: (size: number) => Uint8Array;
}

/** A token revoked on another node works for so long at most. */
const MAX_AGE_MS = 3_000;
/** How long the known tokens stay valid while the store cannot be asked. */
const MAX_AGE_WITHOUT_STORE_MS = 60_000;
/** An unknown token, and a store that failed, reload the cache at most this often. */
const MIN_AGE_MS = 1_000;

/** How exact the time of the last use is: a token in use costs the store one write in so long. */
const USE_INTERVAL_MS = 60_000;

const TOKEN_BYTES = 32;
const PREFIX = "cairn_";
const TOKEN_PATTERN = /^cairn_[\w-]{43}$/;
const UUID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const OWNER_NAME = "owner";

/** Whether the name reads as the owner's, which the security log has for the owner alone. */
export function isOwnerName(name: string): boolean {
  return name.normalize("NFKC").trim().toLowerCase() === OWNER_NAME;
}

export function createTokens(deps: TokenDeps): Tokens {
  const { database, newId, clock } = deps;
  const owner: Principal = { id: OWNER_NAME, name: OWNER_NAME, scopes: new Set(SCOPES), owner: true };
  const ownerDigest = deps.ownerToken ? digestOf(deps.ownerToken) : null;
  const cache = new TokenCache(() => load(database), clock);
  const noteUse = useRecorder(database, clock);

  function newValue(): { readonly token: string; readonly hash: string } {
    const token = PREFIX + Buffer.from(deps.randomBytes(TOKEN_BYTES)).toString("base64url");
    return { token, hash: digestOf(token).toString("hex") };
  }

  return {
    async authenticate(token) {
      const digest = digestOf(token);
      if (ownerDigest !== null && timingSafeEqual(digest, ownerDigest)) return owner;
      if (!TOKEN_PATTERN.test(token)) return null;
      const found = await cache.find(digest.toString("hex"));
      if (found?.expiresAt && found.expiresAt <= clock.now()) throw expired(found.expiresAt);
      if (found) noteUse(found.id);
      return found;
    },

    async create(name, scopes, expiresAt) {
      if (isOwnerName(name)) throw taken(name);
      const id = newId();
      const { token, hash } = newValue();
      await database.transaction(async (tx) => {
        await tx.query("select pg_advisory_xact_lock(hashtext('api_tokens'))");
        const { rows } = await tx.query("select 1 from api_tokens where name = $1 and revoked_at is null", [name]);
        if (rows.length > 0) throw taken(name);
        await tx.query(
          `insert into api_tokens (id, name, hash, scopes, created_at, expires_at)
           values ($1, $2, $3, $4::text[], $5, $6::timestamptz)`,
          [id, name, hash, [...scopes], clock.now(), expiresAt ?? null],
        );
      });
      cache.forget();
      return { id, token };
    },

    async list() {
      const { rows } = await database.query<Row>(
        `select id, name, scopes, created_at, revoked_at, expires_at, last_used_at
         from api_tokens order by created_at, id`,
      );
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        scopes: scopesOf(row.scopes),
        created_at: row.created_at.toISOString(),
        revoked_at: row.revoked_at?.toISOString() ?? null,
        expires_at: row.expires_at?.toISOString() ?? null,
        last_used_at: row.last_used_at?.toISOString() ?? null,
      }));
    },

    async rotate(idOrName, { expiresAt, permit } = {}) {
      const { token, hash } = newValue();
      const rotated = await database.transaction(async (tx) => {
        const { id, name } = await tokenCalled(tx, idOrName);
        const { rows } = await tx.query<Pick<Row, "scopes" | "revoked_at" | "expires_at">>(
          "select scopes, revoked_at, expires_at from api_tokens where id = $1 for update",
          [id],
        );
        const [row] = rows;
        if (row === undefined || row.revoked_at !== null) throw revoked(name);
        const scopes = scopesOf(row.scopes);
        const end = expiresAt ?? row.expires_at ?? undefined;
        if (end !== undefined && end <= clock.now()) throw over(name, end);
        permit?.(scopes, end);
        await tx.query("update api_tokens set hash = $2, expires_at = $3::timestamptz where id = $1", [
          id,
          hash,
          end ?? null,
        ]);
        return { id, name, scopes, expires_at: end?.toISOString() ?? null };
      });
      cache.forget();
      return { ...rotated, token };
    },

    async revoke(idOrName) {
      const token = await tokenCalled(database, idOrName);
      await database.query("update api_tokens set revoked_at = coalesce(revoked_at, $2) where id = $1", [
        token.id,
        clock.now(),
      ]);
      cache.forget();
      return token;
    },
  };
}

interface Called {
  readonly id: string;
  readonly name: string;
}

/** The token with this id, else the one that has this name and is not revoked. Restored tokens may share a name. */
async function tokenCalled(database: Pick<Database, "query">, idOrName: string): Promise<Called> {
  const id = UUID_PATTERN.test(idOrName) ? idOrName : null;
  const { rows } = await database.query<Called>(
    "select id, name from api_tokens where id = $1::uuid or (name = $2 and revoked_at is null) order by created_at, id",
    [id, idOrName],
  );
  const found = rows.find((row) => row.id === id?.toLowerCase()) ?? rows[0];
  if (found === undefined) {
    throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no token with this id or name.", {
      hint: "`cairn token list` shows both; a revoked token is found by its id alone.",
    });
  }
  if (rows.length > 1 && found.id !== id?.toLowerCase()) {
    const ids = rows.map((row) => row.id).join(", ");
    throw new RuntimeError("RUNTIME_CONFLICT", `${rows.length} tokens are named "${idOrName}": ${ids}.`, {
      hint: "Name the one that is meant by its id.",
    });
  }
  return found;
}

/**
 * Writes when a token was last used, beside the requests that use it: none waits for it, and a write that fails is left out. Of
 * several nodes each writes for itself, never an earlier time over a later one.
 */
function useRecorder(database: Pick<Database, "query">, clock: Clock): (id: string) => void {
  const written = new Map<string, number>();
  return (id) => {
    const now = clock.monotonic();
    if (now - (written.get(id) ?? Number.NEGATIVE_INFINITY) < USE_INTERVAL_MS) return;
    written.set(id, now);
    const sql = "update api_tokens set last_used_at = greatest(last_used_at, $2::timestamptz) where id = $1";
    database.query(sql, [id, clock.now()]).catch(() => {});
  };
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created_at: Date;
  readonly revoked_at: Date | null;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

type Snapshot = ReadonlyMap<string, Principal>;

/** The valid stored tokens by hash, as of a moment ago. */
class TokenCache {
  readonly #load: () => Promise<Snapshot>;
  readonly #clock: Clock;
  #tokens: Snapshot = new Map();
  #loadedAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #loading: Promise<void> | null = null;
  /** Raised by every change of this node: what was read before it is not cached. */
  #generation = 0;

  constructor(load: () => Promise<Snapshot>, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** Null when there is no such token. Throws the store's error where it cannot be asked. */
  async find(hash: string): Promise<Principal | null> {
    if (this.#age() > MAX_AGE_MS) await this.#refresh();
    const usable = this.#age() <= MAX_AGE_WITHOUT_STORE_MS;
    const found = usable ? this.#tokens.get(hash) : undefined;
    if (found) return found;
    // It may have been created on another node since.
    if (this.#age() > MIN_AGE_MS) await this.#refresh();
    if (this.#failure) throw this.#failure.error;
    return this.#tokens.get(hash) ?? null;
  }

  forget(): void {
    this.#generation++;
    this.#loadedAt = Number.NEGATIVE_INFINITY;
    this.#failure = null;
  }

  #age(): number {
    return this.#clock.monotonic() - this.#loadedAt;
  }

  /** Reads again; after a failure not at once. One read at a time, however many wait for it. */
  async #refresh(): Promise<void> {
    if (this.#failure && this.#clock.monotonic() - this.#failure.at < MIN_AGE_MS) return;
    const generation = this.#generation;
    this.#loading ??= this.#read().finally(() => {
      this.#loading = null;
    });
    await this.#loading;
    if (generation !== this.#generation && !this.#failure) await this.#refresh();
  }

  async #read(): Promise<void> {
    const generation = this.#generation;
    const startedAt = this.#clock.monotonic();
    try {
      const tokens = await this.#load();
      if (generation !== this.#generation) return;
      this.#tokens = tokens;
      this.#loadedAt = startedAt;
      this.#failure = null;
    } catch (error) {
      this.#failure = { error: unavailable(error), at: this.#clock.monotonic() };
    }
  }
}

async function load(database: Pick<Database, "query">): Promise<Snapshot> {
  const { rows } = await database.query<Pick<Row, "id" | "name" | "scopes" | "expires_at"> & { hash: string }>(
    "select name, hash, scopes, id, expires_at from api_tokens where revoked_at is null",
  );
  return new Map(
    rows.map(({ id, name, hash, scopes, expires_at: expiresAt }) => {
      const principal = { id, name, scopes: new Set(scopesOf(scopes)), owner: false };
      return [hash, expiresAt === null ? principal : { ...principal, expiresAt }];
    }),
  );
}

/** A scope of a newer version has no effect here. */
function scopesOf(scopes: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function taken(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `There is a token named "${name}" already.`, {
    hint: "Revoke it first, or choose another name.",
  });
}

function revoked(name: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The token "${name}" is revoked.`, {
    hint: "Its name is free: `cairn token create` makes another one.",
  });
}

function over(name: string, at: Date): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The token "${name}" ended at ${at.toISOString()}.`, {
    hint: "Say when the new one is to end: `cairn token rotate NAME --expires 90d`.",
  });
}

function expired(at: Date): RuntimeError {
  return new RuntimeError("RUNTIME_TOKEN_EXPIRED", `The token expired at ${at.toISOString()}.`, {
    hint: "The owner makes another one with `cairn token create`.",
  });
}

function unavailable(error: unknown): unknown {
  if (error instanceof CairnError) return error;
  return new RuntimeError("RUNTIME_NOT_READY", "Tokens cannot be checked at the moment.", { cause: error });
}
