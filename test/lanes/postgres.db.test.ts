import { existsSync } from "node:fs";
import pg from "pg";
import { expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { lacks } from "./tools.ts";

it.skipIf(lacks("postgresql"))(
  "keeps what was committed through a crash, and leaves nothing behind when it is stopped",
  async () => {
    const server = await startPostgres();
    try {
      await ask(server, "CREATE EXTENSION vector");
      await ask(server, "CREATE TABLE notes AS SELECT 'kept' AS text");
      const [{ folder } = { folder: "" }] = await ask(server, "SELECT current_setting('data_directory') AS folder");
      expect(await ask(server, "SELECT current_setting('fsync') AS fsync")).toEqual([{ fsync: "on" }]);

      await server.crash();
      await expect(ask(server, "SELECT 1")).rejects.toThrow();
      expect(existsSync(String(folder))).toBe(true);

      await server.restart();
      expect(await ask(server, "SELECT text FROM notes")).toEqual([{ text: "kept" }]);

      await server.stop();
      await expect(ask(server, "SELECT 1")).rejects.toThrow();
      expect(existsSync(String(folder))).toBe(false);
    } finally {
      await server.stop();
    }
  },
);

async function ask(server: PostgresServer, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
