/** The databases of the suites are copies of a template: this tree's own, or the one that another release has made. */

import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { describe, expect, it, vi } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { createPostgresCopy } from "./databases.ts";

describe.skipIf(lacks("postgresql"))("a suite's database", () => {
  const cluster = process.env.CAIRN_TEST_PG_URL ?? "";

  it("is a copy of the database that CAIRN_TEST_TEMPLATE names, with what a later release made there", async () => {
    const template = `cairn_given_${randomUUID().replaceAll("-", "")}`;
    const made = new URL(cluster);
    made.pathname = `/${template}`;
    await run(cluster, `create database ${template}`);
    await run(made.href, "create table of_a_later_release (id int)");
    vi.stubEnv("CAIRN_TEST_TEMPLATE", template);
    const { url, remove } = await createPostgresCopy(cluster);
    try {
      expect(await tables(url)).toEqual(["of_a_later_release"]);
    } finally {
      await remove();
      await run(cluster, `drop database ${template} with (force)`);
    }
  });

  it("else is a copy of what this tree's migrations make", async () => {
    vi.stubEnv("CAIRN_TEST_TEMPLATE", "");
    const { url, remove } = await createPostgresCopy(cluster);
    try {
      expect(await tables(url)).toContain("schema_migrations");
    } finally {
      await remove();
    }
  });
});

async function tables(url: string): Promise<unknown[]> {
  const rows = await run(url, "select tablename from pg_tables where schemaname = 'public' order by 1");
  return rows.map((row) => Reflect.get(row, "tablename"));
}

async function run(url: string, sql: string): Promise<object[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
