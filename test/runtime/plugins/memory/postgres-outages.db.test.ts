import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { migrate } from "../../../../runtime/app/migrate.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { QUEUES } from "../../../../runtime/contracts/jobs.ts";
import type { Logger } from "../../../../runtime/contracts/ports.ts";
import { openPostgres } from "../../../../runtime/plugins/memory/postgres/index.ts";
import { createJobQueue } from "../../../../runtime/workers/queue.ts";
import { type PostgresServer, startPostgres } from "../../../lanes/postgres.ts";
import { lacks } from "../../../lanes/tools.ts";
import { MIGRATIONS, quietLogger } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";

const TIMEOUT = 300_000;
/** Nothing listens there. */
const NOWHERE = "postgresql://somebody:the-secret-word@127.0.0.1:9/cairn";

describe.skipIf(lacks("postgresql"))("PostgreSQL that goes away", { timeout: TIMEOUT }, () => {
  let server: PostgresServer;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    const database = await openPostgres({ connectionString: server.url, pool: 2, logger: quietLogger });
    await migrate(database, { directory: MIGRATIONS });
    await database.close();
  }, TIMEOUT);

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  afterAll(async () => {
    await server.stop();
  }, TIMEOUT);

  async function open(connectionString: string, logger: Logger = quietLogger): Promise<Database> {
    const database = await openPostgres({ connectionString, pool: 4, logger });
    cleanups.push(() => database.close());
    return database;
  }

  it("makes statements fail as retryable and says so in its status, and serves again after the restart", async () => {
    const database = await open(server.url);
    await database.query("select 1");
    const interrupted = database
      .transaction((tx) => tx.query("select pg_sleep(600)"), { statementTimeoutMs: 600_000 })
      .catch((error: unknown) => error);
    await eventually(async () => {
      const { rows } = await database.query(
        "select 1 from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active'",
      );
      expect(rows.length).toBeGreaterThan(0);
    });
    await server.crash();
    await expect(interrupted).resolves.toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
    await expect(database.query("select 1")).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expect(database.status()).resolves.toMatchObject({ reachable: false, error: expect.any(String) });
    await server.restart();
    await eventually(() => database.query("select 1"));
    await expect(database.status()).resolves.toMatchObject({ reachable: true });
  });

  it("ends a transaction without a commit that was not made", async () => {
    const database = await open(server.url);
    await database.script("create table if not exists outages (n int)");
    const run = database.transaction(async (tx) => {
      await tx.query("insert into outages values (1)");
      await server.crash();
      await server.restart();
      await tx.query("insert into outages values (2)");
    });
    await expect(run).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    expect((await eventually(() => database.query("select n from outages"))).count).toBe(0);
  });

  it("listens again and wakes its handlers once, since they may have missed something", async () => {
    const database = await open(server.url);
    const heard: string[] = [];
    await database.listen("outage", (payload) => heard.push(payload));
    await database.query("select pg_notify('outage', 'before')");
    await eventually(() => expect(heard).toEqual(["before"]));
    await server.crash();
    await server.restart();
    await eventually(() => expect(heard).toEqual(["before", ""]));
    await eventually(() => database.query("select pg_notify('outage', 'after')"));
    await eventually(() => expect(heard).toEqual(["before", "", "after"]));
  });

  it("takes its jobs up again, and those that were enqueued before", async () => {
    const database = await open(server.url);
    const queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    cleanups.push(() => queue.stop(1_000));
    const done: string[] = [];
    await queue.work<{ name: string }>(QUEUES.extractWiki, async ({ data }) => void done.push(data.name), {
      pollS: 0.5,
    });
    await queue.start();
    await queue.enqueue(QUEUES.extractWiki, { name: "before" });
    await eventually(() => expect(done).toEqual(["before"]));
    await server.crash();
    await expect(queue.enqueue(QUEUES.extractWiki, { name: "during" })).rejects.toThrow();
    await server.restart();
    await eventually(() => queue.enqueue(QUEUES.extractWiki, { name: "after" }));
    await eventually(() => expect(done).toEqual(["before", "after"]));
  });

  it("may be unavailable at the start: opening, listening and the job queue wait for it", async () => {
    await server.crash();
    const database = await open(server.url);
    const heard: string[] = [];
    await database.listen("late", (payload) => heard.push(payload));
    const queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    cleanups.push(() => queue.stop(1_000));
    await queue.start();
    await expect(queue.enqueue(QUEUES.synthesizeToolCall, {})).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expect(database.status()).resolves.toMatchObject({ reachable: false });
    await server.restart();
    await eventually(() => queue.enqueue(QUEUES.synthesizeToolCall, {}));
    await eventually(() => expect(heard).toContain(""));
  });

  it("gives up on a server that does not answer any more, soon after the statement's deadline", async () => {
    const link = await startLink(server.url);
    cleanups.push(() => link.close());
    const database = await open(link.url);
    await database.query("select 1");
    link.stall();
    const wentOn = vi.fn();
    setImmediate(wentOn);
    const slow = database.transaction((tx) => tx.query("select 1"), { statementTimeoutMs: 300 });
    await expect(slow).rejects.toMatchObject({ code: "MEMORY_TIMEOUT", retryable: true });
    expect(wentOn).toHaveBeenCalledOnce();
    await expect(database.query("select 1")).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    link.resume();
    await eventually(() => database.query("select 1"));
  });

  it("gives up on one that stops answering in a transaction whose deadline was shortened", async () => {
    const link = await startLink(server.url);
    cleanups.push(() => link.close());
    const database = await open(link.url);
    const slow = database.transaction(
      async (tx) => {
        await tx.query("select 1");
        await tx.limit(300);
        link.stall();
        await tx.query("select 1");
      },
      { statementTimeoutMs: 600_000 },
    );
    await expect(slow).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
    link.resume();
  });

  it("tells nobody the password", async () => {
    const logged: unknown[] = [];
    const note = (...entry: unknown[]): void => void logged.push(entry);
    const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
    const database = await open(NOWHERE, logger);
    await database.listen("x", () => {});
    const error = await database.query("select 1").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    const nameless = new URL(server.url);
    nameless.password = "the-secret-word";
    nameless.pathname = "/missing";
    const missing = await (await open(nameless.href, logger)).query("select 1").catch((caught: unknown) => caught);
    expect(missing).toMatchObject({ code: "MEMORY_UNAVAILABLE", details: { hint: expect.stringContaining("Create") } });
    const malformed = await openPostgres({ connectionString: "postgres://u:the-secret-word@[", pool: 2, logger }).catch(
      (caught: unknown) => caught,
    );
    expect(malformed).toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
    expect(logged.length).toBeGreaterThan(0);
    const everything = inspect([logged, error, missing, malformed, await database.status()], {
      depth: 20,
      showHidden: true,
    });
    expect(everything).not.toContain("the-secret-word");
  });

  it("works through a pooler that keeps no session, with the deadlines of a session", async () => {
    const database = await openPostgres({
      connectionString: server.url,
      directUrl: server.url,
      pool: 2,
      logger: quietLogger,
    });
    cleanups.push(() => database.close());
    const { rows } = await database.query(
      `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
              current_setting('idle_in_transaction_session_timeout') as idle, current_setting('TimeZone') as zone,
              current_setting('jit') as jit`,
    );
    expect(rows).toEqual([{ statement: "5s", lock: "2s", idle: "30s", zone: "UTC", jit: "off" }]);
    for (let n = 0; n < 10; n += 1) await database.query("select $1::int", [n]);
    const names = await database.query("select name from pg_prepared_statements");
    expect(names.rows).toEqual([]);
    await expect(
      database.transaction((tx) => tx.query("select pg_sleep(3)"), { statementTimeoutMs: 200 }),
    ).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
  });

  it("compiles no statements, on no session of its own", async () => {
    const database = await open(server.url);
    const jit = "select current_setting('jit') as jit";
    const outside = await database.query(jit);
    const inside = await database.transaction((tx) => tx.query(jit));
    const script = await database.script(jit);
    expect([outside.rows, inside.rows, script.rows]).toEqual(Array(3).fill([{ jit: "off" }]));
  });

  it("serves no more callers at once than the pool has connections, and refuses the rest in time", async () => {
    const database = await openPostgres({ connectionString: server.url, pool: 2, logger: quietLogger });
    cleanups.push(() => database.close());
    const release = Promise.withResolvers<void>();
    const holders = [1, 2].map(() => database.transaction(async () => release.promise));
    await expect(database.query("select 1")).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
    release.resolve();
    await Promise.all(holders);
    await expect(database.query("select 1")).resolves.toBeDefined();
  });
});

/** A way to the server that can stop to carry anything, without closing. */
async function startLink(
  target: string,
): Promise<{ url: string; stall(): void; resume(): void; close(): Promise<void> }> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let stalled = false;
  const carry = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on("data", (bytes) => {
      if (!stalled) to.write(bytes);
    });
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
  };
  const link = createServer((inbound) => {
    const outbound = connect(Number(port), hostname);
    carry(inbound, outbound);
    carry(outbound, inbound);
  });
  link.listen(0, "127.0.0.1");
  await once(link, "listening");
  const address = link.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = new URL(target);
  url.port = String(address.port);
  return {
    url: url.href,
    stall: () => {
      stalled = true;
    },
    resume: () => {
      stalled = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      link.close();
      await once(link, "close");
    },
  };
}
