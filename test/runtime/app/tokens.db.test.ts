import { randomBytes } from "node:crypto";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import type { Tokens } from "../../../runtime/app/api.ts";
import { createTokens, type TokenDeps } from "../../../runtime/app/tokens.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import { describeDatabase } from "../../support/databases.ts";

const OWNER_TOKEN = "the-owner-token-of-this-suite";

describeDatabase("tokens", (open) => {
  /** A node over the suite's database; its clock stands still unless the test moves it. */
  async function node(overrides: Partial<TokenDeps> = {}) {
    const database = await open();
    const startedAt = Date.now();
    let now = 0;
    let queries = 0;
    let down = false;
    const counted: Pick<Database, "query" | "transaction"> = {
      query: (text, values) => {
        queries++;
        if (down) return Promise.reject(new MemoryError("MEMORY_UNAVAILABLE", "The store cannot be reached."));
        return database.query(text, values);
      },
      transaction: (work, options) => database.transaction(work, options),
    };
    const tokens = createTokens({
      database: counted,
      ownerToken: OWNER_TOKEN,
      newId: v7,
      clock: { now: () => new Date(startedAt + now), monotonic: () => now },
      randomBytes,
      ...overrides,
    });
    return {
      tokens,
      database,
      advance: (ms: number) => {
        now += ms;
      },
      queries: () => queries,
      setDown: (value: boolean) => {
        down = value;
      },
    };
  }

  async function recordOf(tokens: Tokens, id: string) {
    return (await tokens.list()).find((one) => one.id === id);
  }

  const uniqueName = () => `token ${v7()}`;

  test("the owner's token has every scope and needs no store", async () => {
    const { tokens, setDown, queries } = await node();
    setDown(true);
    expect(await tokens.authenticate(OWNER_TOKEN)).toEqual({
      id: "owner",
      name: "owner",
      scopes: new Set(["capture", "memory", "agent", "admin"]),
      owner: true,
    });
    expect(await tokens.authenticate(`${OWNER_TOKEN}x`)).toBeNull();
    expect(queries()).toBe(0);
  });

  test("without an owner's token the empty token is nobody's", async () => {
    const database = await open();
    const clock = { now: () => new Date(), monotonic: () => 0 };
    const tokens = createTokens({ database, newId: v7, clock, randomBytes });
    expect(await tokens.authenticate("")).toBeNull();
  });

  test("a created token has its name and scopes, and is stored as a hash only", async () => {
    const { tokens, database } = await node();
    const name = uniqueName();
    const { id, token } = await tokens.create(name, ["capture", "memory"]);
    expect(token).toMatch(/^cairn_[\w-]{43}$/);
    expect(await tokens.authenticate(token)).toEqual({
      id,
      name,
      scopes: new Set(["capture", "memory"]),
      owner: false,
    });
    const { rows } = await database.query("select * from api_tokens where id = $1", [id]);
    expect(JSON.stringify(rows)).not.toContain(token.slice("cairn_".length));
    await expect.poll(async () => (await recordOf(tokens, id))?.last_used_at).not.toBeNull();
    const listed = await recordOf(tokens, id);
    expect(listed).toEqual({
      id,
      name,
      scopes: ["capture", "memory"],
      created_at: expect.any(String),
      revoked_at: null,
      expires_at: null,
      last_used_at: expect.any(String),
    });
    expect(new Date(listed?.created_at ?? "").getTime()).not.toBeNaN();
  });

  test("a name is one token's at a time, also when two are created at once", async () => {
    const { tokens } = await node();
    const name = uniqueName();
    const results = await Promise.allSettled([tokens.create(name, ["agent"]), tokens.create(name, ["agent"])]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(tokens.create(name, ["agent"])).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    await expect(tokens.create("owner", ["agent"])).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    const made = (await tokens.list()).find((one) => one.name === name);
    await tokens.revoke(made?.id ?? "");
    await tokens.create(name, ["agent"]);
  });

  test("revoking works at once here, and within seconds on another node", async () => {
    const here = await node();
    const there = await node();
    const { id, token } = await here.tokens.create(uniqueName(), ["agent"]);
    expect(await here.tokens.authenticate(token)).not.toBeNull();
    expect(await there.tokens.authenticate(token)).not.toBeNull();
    await here.tokens.revoke(id);
    expect(await here.tokens.authenticate(token)).toBeNull();
    there.advance(3_001);
    expect(await there.tokens.authenticate(token)).toBeNull();
    expect((await here.tokens.list()).find((one) => one.id === id)?.revoked_at).toEqual(expect.any(String));
  });

  test("a token revoked while the tokens are being read is not let in by what was read", async () => {
    const database = await open();
    const read = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let slow = false;
    const { tokens, advance } = await node({
      database: {
        transaction: (work, options) => database.transaction(work, options),
        query: async <Row>(text: string, values?: readonly unknown[]) => {
          const result = await database.query<Row>(text, values);
          if (slow && text.startsWith("select name, hash")) {
            read.resolve();
            await goOn.promise;
          }
          return result;
        },
      },
    });
    const { id, token } = await tokens.create(uniqueName(), ["agent"]);
    expect(await tokens.authenticate(token)).not.toBeNull();
    advance(3_001);
    slow = true;
    const asked = tokens.authenticate(token);
    await read.promise;
    await tokens.revoke(id);
    const askedAfterwards = tokens.authenticate(token);
    goOn.resolve();
    expect(await Promise.all([asked, askedAfterwards])).toEqual([null, null]);
  });

  test("a token created on another node works here within a second", async () => {
    const here = await node();
    const there = await node();
    const strange = `cairn_${"x".repeat(43)}`;
    expect(await there.tokens.authenticate(strange)).toBeNull();
    const { token } = await here.tokens.create(uniqueName(), ["agent"]);
    there.advance(1_001);
    expect(await there.tokens.authenticate(token)).not.toBeNull();
  });

  test("any number of wrong tokens costs the store one query a second", async () => {
    const { tokens, queries, advance } = await node();
    for (let n = 0; n < 200; n++) {
      expect(await tokens.authenticate(`cairn_${randomBytes(32).toString("base64url")}`)).toBeNull();
    }
    expect(queries()).toBe(1);
    advance(1_001);
    await Promise.all(
      Array.from({ length: 50 }, () => tokens.authenticate(`cairn_${randomBytes(32).toString("base64url")}`)),
    );
    expect(queries()).toBe(2);
  });

  test("what cannot be a token is not looked up", async () => {
    const { tokens, queries } = await node();
    for (const token of ["", "x", "cairn_", `cairn_${"x".repeat(44)}`, "\u0000", "é".repeat(49)]) {
      expect(await tokens.authenticate(token)).toBeNull();
    }
    expect(queries()).toBe(0);
  });

  test("cached tokens stay valid for a minute without the store; others cannot be checked", async () => {
    const { tokens, setDown, advance, queries } = await node();
    const { token } = await tokens.create(uniqueName(), ["memory"]);
    expect(await tokens.authenticate(token)).not.toBeNull();
    setDown(true);
    advance(4_000);
    const before = queries();
    for (let n = 0; n < 10; n++) expect(await tokens.authenticate(token)).not.toBeNull();
    expect(queries()).toBe(before + 1);
    await expect(tokens.authenticate(`cairn_${"y".repeat(43)}`)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    advance(60_000);
    await expect(tokens.authenticate(token)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    setDown(false);
    advance(1_001);
    expect(await tokens.authenticate(token)).not.toBeNull();
  });

  test("a rotated token keeps id, scopes and expiry; its former value ends at once here, within seconds elsewhere", async () => {
    const here = await node();
    const there = await node();
    const name = uniqueName();
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { id, token: former } = await here.tokens.create(name, ["agent", "memory"], expiresAt);
    expect(await there.tokens.authenticate(former)).not.toBeNull();
    const rotated = await here.tokens.rotate(name);
    const kept = { id, name, scopes: ["memory", "agent"], expires_at: expiresAt.toISOString() };
    expect(rotated).toEqual({ ...kept, token: expect.stringMatching(/^cairn_[\w-]{43}$/) });
    expect(await here.tokens.authenticate(former)).toBeNull();
    expect(await here.tokens.authenticate(rotated.token)).toMatchObject({ id, name, expiresAt });
    there.advance(3_001);
    expect(await there.tokens.authenticate(former)).toBeNull();
    expect(await there.tokens.authenticate(rotated.token)).toMatchObject({ id });
    const { rows } = await here.database.query("select * from api_tokens where id = $1", [id]);
    expect(JSON.stringify(rows)).not.toContain(rotated.token.slice("cairn_".length));
  });

  test("one of two rotations at once is the last, and its value alone is valid", async () => {
    const { tokens } = await node();
    const { id } = await tokens.create(uniqueName(), ["agent"]);
    const both = await Promise.all([tokens.rotate(id), tokens.rotate(id)]);
    const accepted = await Promise.all(both.map(({ token }) => tokens.authenticate(token)));
    expect(accepted.filter((one) => one !== null)).toHaveLength(1);
  });

  test("what ended is not rotated, unless it gets another end; and nothing that the caller may not have", async () => {
    const { tokens, advance } = await node();
    const name = uniqueName();
    const { id, token } = await tokens.create(name, ["agent"], new Date(Date.now() + 30_000));
    const permit = (): never => {
      throw new Error("not this one");
    };
    await expect(tokens.rotate(id, { permit })).rejects.toThrow("not this one");
    expect(await tokens.authenticate(token)).not.toBeNull();
    advance(31_000);
    await expect(tokens.rotate(id)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    const later = new Date(Date.now() + 3_600_000);
    const rotated = await tokens.rotate(id, { expiresAt: later });
    expect(await tokens.authenticate(rotated.token)).toMatchObject({ id, expiresAt: later });
    await tokens.revoke(id);
    await expect(tokens.rotate(id)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    await expect(tokens.rotate(name)).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
  });

  test("an expired token is refused with a code of its own, also without the store, and listed with its end", async () => {
    const { tokens, advance, setDown } = await node();
    const expiresAt = new Date(Date.now() + 30_000);
    const { id, token } = await tokens.create(uniqueName(), ["agent"], expiresAt);
    expect(await tokens.authenticate(token)).toMatchObject({ id, expiresAt });
    expect((await recordOf(tokens, id))?.expires_at).toBe(expiresAt.toISOString());
    setDown(true);
    advance(31_000);
    await expect(tokens.authenticate(token)).rejects.toMatchObject({ code: "RUNTIME_TOKEN_EXPIRED" });
    setDown(false);
    await tokens.revoke(id);
    expect(await tokens.authenticate(token)).toBeNull();
  });

  test("the last use is written once a minute, and no request waits for it", async () => {
    const database = await open();
    const goOn = Promise.withResolvers<void>();
    let writes = 0;
    const { tokens, advance } = await node({
      database: {
        transaction: (work, options) => database.transaction(work, options),
        query: async <Row>(text: string, values?: readonly unknown[]) => {
          if (text.includes("last_used_at =")) {
            writes++;
            await goOn.promise;
          }
          return database.query<Row>(text, values);
        },
      },
    });
    const { id, token } = await tokens.create(uniqueName(), ["agent"]);
    expect((await recordOf(tokens, id))?.last_used_at).toBeNull();
    for (let n = 0; n < 20; n++) expect(await tokens.authenticate(token)).not.toBeNull();
    expect(writes).toBe(1);
    goOn.resolve();
    await expect.poll(async () => (await recordOf(tokens, id))?.last_used_at).toEqual(expect.any(String));
    const first = (await recordOf(tokens, id))?.last_used_at ?? "";
    advance(60_000);
    expect(await tokens.authenticate(token)).not.toBeNull();
    expect(writes).toBe(2);
    const later = new Date(new Date(first).getTime() + 60_000).toISOString();
    await expect.poll(async () => (await recordOf(tokens, id))?.last_used_at).toBe(later);
  });

  test("a token is revoked by its name; several of one name are told apart by their ids", async () => {
    const { tokens, database } = await node();
    const name = uniqueName();
    const { id, token } = await tokens.create(name, ["agent"]);
    expect(await tokens.revoke(name)).toEqual({ id, name });
    expect(await tokens.authenticate(token)).toBeNull();
    await expect(tokens.revoke(name)).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    expect(await tokens.revoke(id)).toEqual({ id, name });

    const second = await tokens.create(name, ["agent"]);
    // As a restore may bring it along.
    const restored = v7();
    await database.query("insert into api_tokens (id, name, hash, scopes) values ($1, $2, $3, '{agent}')", [
      restored,
      name,
      restored,
    ]);
    const refused = await tokens.revoke(name).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(String(refused)).toContain(second.id);
    expect(String(refused)).toContain(restored);
    expect(await tokens.revoke(restored.toUpperCase())).toEqual({ id: restored, name });
    expect(await tokens.revoke(name)).toEqual({ id: second.id, name });
  });

  test.each(["nope", "00000000-0000-7000-8000-000000000000"])("there is no token %s to revoke", async (id) => {
    const { tokens } = await node();
    await expect(tokens.revoke(id)).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
      details: { hint: expect.stringContaining("cairn token list") },
    });
  });
});
