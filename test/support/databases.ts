import { createHash, randomUUID } from "node:crypto";
import { cpSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, describe } from "vitest";
import { migrate } from "../../runtime/app/migrate.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { openEmbedded } from "../../runtime/plugins/memory/embedded/index.ts";
import { CREATE_PARAMETERS } from "../../runtime/plugins/memory/embedded/settings.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { lacks } from "../lanes/tools.ts";
import { eventually } from "./eventually.ts";
import { quietLogger } from "./quiet-logger.ts";
import { through } from "./through.ts";

export { quietLogger } from "./quiet-logger.ts";

/**
 * Suites of the lane `store` run on both backends where SQL differs between them, where connections, deadlines or locks
 * matter, and along the main paths; the others, about what is decided, on one (all on both with CAIRN_TEST_BACKENDS=both,
 * as every night). PostgreSQL is the cluster of CAIRN_TEST_PG_URL (each database is copied from a migrated template),
 * PGlite a copy of a migrated directory. CAIRN_TEST_TEMPLATE names a database of the cluster to copy instead: a later
 * release hands this one its schema by it. Suites on PGlite, which no two releases share, are then left out.
 */

export interface OpenOptions {
  /** A database of its own, where the suite's shared one would disturb or be disturbed. */
  readonly fresh?: boolean;
}

/**
 * The suite's database: migrated, empty, opened at the first call and shared by the suite's tests (tests keep apart by
 * their own session keys); with `fresh` another one. All are closed and deleted after the suite.
 */
export type OpenDatabase = (options?: OpenOptions) => Promise<Database>;

export const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));

export function describeEachDatabase(
  name: string,
  suite: (open: OpenDatabase, backend: Database["backend"]) => void,
): void {
  const url = process.env.CAIRN_TEST_PG_URL;
  describe.skipIf(givenTemplate() !== undefined)(`${name} (embedded)`, () =>
    suite(opener(openEmbeddedCopy), "embedded"),
  );
  describe.skipIf(lacks("postgresql"))(`${name} (postgres)`, () =>
    suite(
      opener(() => openPostgresCopy(url ?? "")),
      "postgres",
    ),
  );
}

/** On the server where there is one: opening a database and asking it takes a third of the embedded store's time. */
export function describeDatabase(name: string, suite: (open: OpenDatabase) => void): void {
  const url = process.env.CAIRN_TEST_PG_URL;
  if (process.env.CAIRN_TEST_BACKENDS === "both") describeEachDatabase(name, suite);
  else describe(name, () => suite(opener(url === undefined ? openEmbeddedCopy : () => openPostgresCopy(url))));
}

function givenTemplate(): string | undefined {
  return process.env.CAIRN_TEST_TEMPLATE || undefined;
}

interface Opened {
  readonly database: Database;
  remove(): Promise<void>;
}

function opener(create: () => Promise<Opened>): OpenDatabase {
  const opened: Promise<Opened>[] = [];
  let shared: Promise<Opened> | undefined;
  const add = (): Promise<Opened> => {
    const one = create();
    opened.push(one);
    return one;
  };
  afterAll(async () => {
    const results = await Promise.allSettled(opened);
    for (const result of results) {
      if (result.status === "rejected") continue;
      await result.value.database.close();
      await result.value.remove();
    }
  });
  return async ({ fresh = false } = {}) => {
    if (fresh) return patient((await add()).database);
    shared ??= add();
    return patient((await shared).database);
  };
}

/** A busy machine is slow: transactions and scripts that name no deadline have more time than in a node. */
function patient(database: Database): Database {
  const time = { statementTimeoutMs: EVENTUALLY_MS, lockTimeoutMs: EVENTUALLY_MS };
  return through(database, {
    transaction: (work, options) => database.transaction(work, { ...time, ...options }),
    script: (sql, options) => database.script(sql, { ...time, ...options }),
  });
}

/** A new, empty, migrated database of the cluster; `remove` drops it. */
export async function createPostgresCopy(clusterUrl: string): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `cairn_test_${randomUUID().replaceAll("-", "")}`;
  await withAdmin(clusterUrl, async (admin) => {
    const template = givenTemplate() ?? (await postgresTemplate(clusterUrl, admin));
    // Whoever used the template last may not have left it yet.
    await eventually(() => admin.query(`create database ${name} template "${template}"`));
  });
  return {
    url: urlOf(clusterUrl, name),
    remove: () =>
      withAdmin(clusterUrl, async (admin) => void (await admin.query(`drop database ${name} with (force)`))),
  };
}

async function openPostgresCopy(clusterUrl: string): Promise<Opened> {
  const { url, remove } = await createPostgresCopy(clusterUrl);
  return { database: await openPostgres({ connectionString: url, pool: 10, logger: quietLogger }), remove };
}

/** Made by the first who comes; the others wait on the lock. Named after the migrations, so that it never is outdated. */
async function postgresTemplate(clusterUrl: string, admin: Client): Promise<string> {
  const name = `cairn_template_${await migrationsHash()}`;
  const exists = async (): Promise<boolean> =>
    ((await admin.query("select 1 from pg_database where datname = $1", [name])).rowCount ?? 0) > 0;
  if (await exists()) return name;
  await admin.query("select pg_advisory_lock(hashtext($1))", [name]);
  try {
    if (await exists()) return name;
    const unfinished = `${name}_unfinished`;
    await admin.query(`drop database if exists ${unfinished} with (force)`);
    await admin.query(`create database ${unfinished}`);
    const database = await openPostgres({
      connectionString: urlOf(clusterUrl, unfinished),
      pool: 2,
      logger: quietLogger,
    });
    try {
      await migrate(database, { directory: MIGRATIONS });
    } finally {
      await database.close();
    }
    await eventually(() => admin.query(`alter database ${unfinished} rename to ${name}`));
    return name;
  } finally {
    await admin.query("select pg_advisory_unlock(hashtext($1))", [name]);
  }
}

async function withAdmin<T>(clusterUrl: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({ connectionString: clusterUrl });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

function urlOf(clusterUrl: string, database: string): string {
  const url = new URL(clusterUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** A directory with a new, empty, migrated embedded store; `remove` deletes it. */
export async function createEmbeddedCopy(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "cairn-test-store-"));
  await placeEmbeddedCopy(path);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Makes the directory a new, empty, migrated embedded store. Saves the first start of a node the seconds that it takes. */
export async function placeEmbeddedCopy(path: string): Promise<void> {
  // A thousand files: one after the other in a callback each, they take ten times as much of the processor.
  cpSync(await embeddedTemplate(), path, { recursive: true });
  // It copies the modes of files only.
  for (const folder of [path, join(path, "data")]) await chmod(folder, 0o700);
}

async function openEmbeddedCopy(): Promise<Opened> {
  const { path, remove } = await createEmbeddedCopy();
  return { database: await openEmbedded({ path, logger: quietLogger }), remove };
}

/** Made under a name of its own and renamed when complete: whoever comes second finds it, or throws its own away. */
async function embeddedTemplate(): Promise<string> {
  const root = join(process.env.CAIRN_TEST_DISK ?? tmpdir(), "cairn-test-templates");
  const template = join(root, await migrationsHash(await engineOfEmbedded()));
  if (await stat(template).catch(() => undefined)) return template;
  await mkdir(root, { recursive: true });
  const unfinished = await mkdtemp(join(root, "unfinished-"));
  const database = await openEmbedded({ path: unfinished, logger: quietLogger });
  try {
    await migrate(database, { directory: MIGRATIONS });
  } finally {
    await database.close();
  }
  await rename(unfinished, template).catch(async () => {
    await rm(unfinished, { recursive: true, force: true });
    await stat(template);
  });
  return template;
}

/** What else the files depend on: the engine's version and how it makes them. */
async function engineOfEmbedded(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(MIGRATIONS, "..", "package.json"), "utf8"));
  const dependencies: unknown = Reflect.get(Object(manifest), "dependencies");
  return JSON.stringify([Reflect.get(Object(dependencies), "@electric-sql/pglite"), CREATE_PARAMETERS]);
}

async function migrationsHash(salt = ""): Promise<string> {
  const hash = createHash("sha256").update(salt);
  for (const name of (await readdir(MIGRATIONS)).sort()) {
    hash
      .update(name)
      .update("\0")
      .update(await readFile(join(MIGRATIONS, name)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
