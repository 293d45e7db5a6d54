import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Check, Outcome } from "../../../control/doctor/checks/check.ts";
import { CHECKS } from "../../../control/doctor/checks/index.ts";
import { runChecks } from "../../../control/doctor/run.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { lacks } from "../../lanes/tools.ts";
import { createPostgresCopy } from "../../support/databases.ts";
import { MINIMAL } from "../../support/deployment.ts";
import { probeContextWith, ROOT } from "./probe-context.ts";

const cluster = process.env.CAIRN_TEST_PG_URL;

describe.skipIf(lacks("postgresql"))("doctor on a PostgreSQL server", () => {
  let database: Awaited<ReturnType<typeof createPostgresCopy>>;
  beforeAll(async () => {
    database = await createPostgresCopy(cluster ?? "");
  });
  afterAll(() => database.remove());

  it("finds a migrated one well", async () => {
    for (const id of [
      "database.reachable",
      "database.version",
      "database.extensions",
      "database.migrations",
      "database.pool",
      "system.clock",
    ]) {
      expect(await run(id), id).toMatchObject({ status: "pass" });
    }
    expect(await run("database.direct")).toMatchObject({ status: "skip" });
    expect(await run("database.lock")).toMatchObject({ status: "skip" });
  });

  it("tells a schema that is older, newer, or not there", async () => {
    await connectedTo(async (client) => {
      await client.query("alter table schema_migrations rename to elsewhere");
      expect(await run("database.migrations")).toMatchObject({
        status: "warn",
        message: expect.stringContaining("no schema"),
      });
      await client.query("alter table elsewhere rename to schema_migrations");
      await client.query(
        "insert into schema_migrations (version, name, checksum, compatible_from) values (900, 'x', 'x', 900)",
      );
      expect(await run("database.migrations")).toMatchObject({
        status: "fail",
        message: expect.stringContaining("newer"),
      });
      await client.query("update schema_migrations set compatible_from = 1 where version = 900");
      expect(await run("database.migrations")).toMatchObject({
        status: "pass",
        message: expect.stringContaining("and fits it"),
      });
      await client.query("delete from schema_migrations where version = 900");
      await client.query("create table kept as select * from schema_migrations where version > 1");
      await client.query("delete from schema_migrations where version > 1");
      expect(await run("database.migrations")).toMatchObject({
        status: "warn",
        message: expect.stringContaining("version 1"),
      });
      await client.query("insert into schema_migrations select * from kept");
      await client.query("drop table kept");
    });
  });

  it("tells a role that may not create the extensions that the database lacks", async () => {
    await connectedTo(async (client) => {
      await client.query("create role doctor_limited login");
      try {
        // Not this database, which has them already.
        const url = Object.assign(new URL(database.url), { pathname: "/template1", username: "doctor_limited" });
        const said = await run("database.extensions", "", {}, url.href);
        expect(said).toMatchObject({
          status: "fail",
          message: expect.stringMatching(/lacks .*vector.* may not create/),
        });
        expect(await run("database.extensions")).toMatchObject({ status: "pass" });
      } finally {
        await client.query("drop role doctor_limited");
      }
    });
  });

  it("tells a pool that does not fit", async () => {
    expect(await run("database.pool", "pool: 5000")).toMatchObject({
      status: "fail",
      message: expect.stringContaining("5002 connections"),
    });
  });

  it.each([
    ["no-such-database", { pathname: "/no_such" }, "createdb"],
    ["a wrong user", { username: "nobody_here" }, "connection string"],
  ])("says what to do about %s", async (_name, change, fix) => {
    const url = Object.assign(new URL(database.url), change);
    const outcome = await run("database.reachable", "", {}, url.href);
    expect(outcome).toMatchObject({ status: "fail", fix: expect.stringContaining(fix) });
  });

  it("lets one check that breaks every connection spoil no other", async () => {
    const vandal: Check = {
      id: "database.vandal",
      subject: "how much can be broken",
      run: async (context) => {
        await context.database();
        const client = await connected();
        await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        );
        await client.end();
        throw new Error("everything is broken");
      },
    };
    const others = CHECKS.filter(({ id }) => id.startsWith("database."));
    const context = await contextOf("");
    const { checks } = await runChecks([vandal, ...others], context, {
      timeoutMs: EVENTUALLY_MS,
      signal: new AbortController().signal,
    });
    expect(checks).toHaveLength(others.length + 1);
    expect(checks[0]).toMatchObject({ status: "fail", message: expect.stringContaining("everything is broken") });
    expect(checks.find(({ id }) => id === "database.reachable")).toMatchObject({ status: "pass" });
    expect(checks.find(({ id }) => id === "database.version")).toMatchObject({ status: "pass" });
    // And the next examination finds all well again.
    expect(await run("database.migrations")).toMatchObject({ status: "pass" });
  });

  async function run(id: string, more = "", seen = {}, url = database.url): Promise<Outcome | undefined> {
    const context = await contextOf(more, seen, url);
    return CHECKS.find((check) => check.id === id)?.run(context, AbortSignal.timeout(EVENTUALLY_MS));
  }

  async function contextOf(more: string, seen = {}, url = database.url) {
    const yaml = `${MINIMAL}memory:\n  postgres:\n    connection_string: ${JSON.stringify(url)}\n    ${more}\n`;
    return probeContextWith({ yaml, seen, probeMs: EVENTUALLY_MS, root: join(ROOT) });
  }

  async function connected(): Promise<Client> {
    const client = new Client({ connectionString: database.url });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  async function connectedTo(work: (client: Client) => Promise<void>): Promise<void> {
    const client = await connected();
    try {
      await work(client);
    } finally {
      await client.end();
    }
  }
});
