/** The schema of the database against the migrations that this program brings along. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import { connectionOf } from "../../scene/database.ts";
import { askPostgres } from "../../scene/postgres.ts";
import type { Scene } from "../../scene/scene.ts";
import { type Check, fail, type Outcome, pass, skip, warn } from "../check.ts";

interface Applied {
  readonly version: number;
  readonly compatible_from: number;
}

export const databaseMigrations: Check = {
  id: "database.migrations",
  subject: "the schema of the database",
  async run(scene, signal) {
    const newest = await newestMigration(join(scene.root, "migrations"));
    const look = await scene.database();
    if (look.backend !== "postgres") return throughNode(scene, newest);
    const url = await connectionOf(await scene.config(), look);
    const applied = await readApplied(url, { lookMs: scene.lookMs, signal });
    return judge(newest, applied);
  },
};

/** The schema of the embedded store, or of the stack's database, is known to its node alone. */
async function throughNode(scene: Scene, newest: number): Promise<Outcome> {
  const { schema_version: version } = await scene.health();
  if (version === null) return skip("The node does not say which schema its store has.");
  return judge(newest, [{ version, compatible_from: version }]);
}

function judge(newest: number, applied: readonly Applied[] | null): Outcome {
  const last = applied?.at(-1);
  if (last === undefined) {
    return warn("The database has no schema yet.", "The first `cairn start` makes it.");
  }
  const { version, compatible_from: compatible } = last;
  if (version === newest) return pass(`The schema is up to date (${version}).`);
  if (version < newest) {
    return warn(
      `The schema is of version ${version}, this program's is ${newest}.`,
      "`cairn restart` brings it up to date; make a backup first: `cairn memory backup`.",
    );
  }
  if (compatible <= newest)
    return pass(`The schema (${version}) is newer than this program's (${newest}), and fits it.`);
  return fail(
    `The schema of the database (${version}) is newer than this program can work with (${newest}).`,
    "Update cairn: `cairn update`.",
  );
}

/** Null when no migration was ever applied. */
async function readApplied(url: string, asking: { readonly lookMs: number; readonly signal: AbortSignal }) {
  try {
    return await askPostgres<Applied>(
      url,
      "select version, compatible_from from schema_migrations order by version",
      asking,
    );
  } catch (error) {
    const undefinedTable = codeOf(error) === "42P01";
    if (undefinedTable) return null;
    throw error;
  }
}

async function newestMigration(directory: string): Promise<number> {
  const names = await readdir(directory);
  return Math.max(...names.flatMap((name) => /^(\d+)_.*\.sql$/.exec(name)?.[1] ?? []).map(Number));
}
