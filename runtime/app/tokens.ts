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

  return {
    async authenticate(token) {
      const digest = digestOf(token);
      if (ownerDigest !== null && timingSafeEqual(digest, ownerDigest)) return owner;
      if (!TOKEN_PATTERN.test(token)) return null;
      return cache.find(digest.toString("hex"));
    },

    async create(name, scopes) {
      if (isOwnerName(name)) throw taken(name);
      const id = newId();
      const token = PREFIX + Buffer.from(deps.randomBytes(TOKEN_BYTES)).toString("base64url");
      const hash = digestOf(token).toString("hex");
      await database.transaction(async (tx) => {
        await tx.query("select pg_advisory_xact_lock(hashtext('api_tokens'))");
        const { rows } = await tx.query("select 1 from api_tokens where name = $1 and revoked_at is null", [name]);
        if (rows.length > 0) throw taken(name);
        await tx.query(
          "insert into api_tokens (id, name, hash, scopes, created_at) values ($1, $2, $3, $4::text[], $5)",
          [id, name, hash, [...scopes], clock.now()],
        );
      });
      cache.forget();
      return { id, token };
    },

    async list() {
      const { rows } = await database.query<Row>(
        "select id, name, scopes, created_at, revoked_at from api_tokens order by created_at, id",
      );
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        scopes: scopesOf(row.scopes),
        created_at: row.created_at.toISOString(),
        revoked_at: row.revoked_at?.toISOString() ?? null,
      }));
    },

    async revoke(id) {
      const { count } = UUID_PATTERN.test(id)
        ? await database.query("update api_tokens set revoked_at = coalesce(revoked_at, $2) where id = $1", [
            id,
            clock.now(),
          ])
        : { count: 0 };
      cache.forget();
      if (count === 0) {
        throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no token with this id.", {
          hint: "`cairn token list` shows the ids.",
        });
      }
    },
  };
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created_at: Date;
  readonly revoked_at: Date | null;
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
  const { rows } = await database.query<{ id: string; name: string; hash: string; scopes: readonly string[] }>(
    "select name, hash, scopes, id from api_tokens where revoked_at is null",
  );
  return new Map(
    rows.map(({ id, name, hash, scopes }) => [hash, { id, name, scopes: new Set(scopesOf(scopes)), owner: false }]),
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

function unavailable(error: unknown): unknown {
  if (error instanceof CairnError) return error;
  return new RuntimeError("RUNTIME_NOT_READY", "Tokens cannot be checked at the moment.", { cause: error });
}
