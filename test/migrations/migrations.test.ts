/** The migrations of the release in development leave a node of the release before something that it can work with. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMigrations } from "../../runtime/app/migration-files.ts";
import { lacks } from "../lanes/tools.ts";
import { MIGRATIONS } from "../support/databases.ts";
import { FIRST_SCHEMA, RELEASED } from "./releases.ts";
import { jobQueueSchema, wrongWith } from "./rules.ts";

const ROOT = join(MIGRATIONS, "..");
/** The schema of pg-boss that nodes have run since before migrations name it. */
const FIRST_QUEUE_SCHEMA = 43;

describe("migrations", () => {
  const former = RELEASED.at(-1)?.schema ?? FIRST_SCHEMA;

  it("say what a rolling upgrade has to know of them", async () => {
    const migrations = (await readMigrations(MIGRATIONS)).filter(({ version }) => version > former);
    expect(migrations.flatMap((migration) => wrongWith(migration, former))).toEqual([]);
  });

  it("name each schema of pg-boss, so that a node that does not know it takes no part", async () => {
    const manifest: unknown = JSON.parse(readFileSync(join(ROOT, "node_modules/pg-boss/package.json"), "utf8"));
    const installed = Reflect.get(Object(Reflect.get(Object(manifest), "pgboss")), "schema");
    expect(jobQueueSchema(await readMigrations(MIGRATIONS)) ?? FIRST_QUEUE_SCHEMA).toBe(installed);
  });

  it.skipIf(lacks("release-tag"))("of releases are known, and are what they were", async () => {
    const tags = git("tag", "--list", "v*", "--merged", "HEAD").split("\n").filter(Boolean);
    const today = await readMigrations(MIGRATIONS);
    for (const tag of tags) {
      const files = git("ls-tree", "--name-only", tag, "migrations/")
        .split("\n")
        .filter((file) => file.endsWith(".sql"));
      expect(RELEASED).toContainEqual({ release: tag.slice(1), schema: files.length });
      for (const [index, file] of files.sort().entries()) {
        expect(today[index]?.sql, `${file} of ${tag}`).toBe(git("show", `${tag}:${file}`));
      }
    }
  });
});

describe("a migration of the next release", () => {
  const of = (sql: string, compatibleFrom: number) =>
    wrongWith(
      { version: 31, name: "031_x.sql", compatibleFrom, sql: `-- compatible-from: ${compatibleFrom}\n${sql}` },
      30,
    );

  it.each([
    ["adds a table", "create table x (n int);", 25],
    ["adds what an index needs", "-- concurrently\ncreate index concurrently x_n on x (n);", 30],
    ["takes away what was unused for a release", "-- contract: 28\nalter table x drop column n;", 28],
    ["speaks of it in a comment", "-- Once, drop table x.\ncreate table y ();", 25],
  ])("may be one that %s", (_, sql, from) => {
    expect(of(sql, from)).toEqual([]);
  });

  it.each([
    [
      "says nothing",
      wrongWith({ version: 31, name: "031_x.sql", compatibleFrom: 31, sql: "select 1;" }, 30),
      /does not say/,
    ],
    [
      "shuts out the release before",
      of("create table x ();", 31),
      /shuts out nodes of the release before, which know 30/,
    ],
    ["takes away without a word", of("alter table x drop column n;", 25), /does not say `-- contract: N`/],
    ["renames", of("alter table x rename column n to m;", 25), /does not say `-- contract: N`/],
    [
      "takes away what is in use",
      of("-- contract: 28\ndrop table x;", 25),
      /what code before 28 uses.*compatible with 25/,
    ],
    ["claims to take away", of("-- contract: 28\ncreate table x ();", 28), /takes nothing away/],
  ])("may not be one that %s", (_, wrong, words) => {
    expect(wrong.join("\n")).toMatch(words);
  });

  it("that upgrades pg-boss names its schema", () => {
    const sql = (text: string) => ({ sql: text });
    expect(jobQueueSchema([sql("-- pg-boss: 43\n"), sql("create table x ();"), sql("-- pg-boss: 46\n"), sql("")])).toBe(
      46,
    );
    expect(jobQueueSchema([sql("create table x ();")])).toBeNull();
  });
});

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
