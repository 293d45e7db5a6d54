/** The schema of the database against the migrations that this program brings along. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import { askServer, connectionOf } from "../../context/database.ts";
import { withoutDatabase } from "../../context/node.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import { type Check, fail, type Outcome, pass, skip, warn } from "../check.ts";

interface Applied {
  readonly version: number;
  readonly compatible_from: number;
}

export const databaseMigrations: Check = {
  id: "database.migrations",
  subject: "the schema of the database",
  async run(context, signal) {
    const newest = await newestMigration(join(context.root, "migrations"));
    const snapshot = await context.database();
    if (snapshot.backend !== "postgres") return throughNode(context, newest);
    const url = await connectionOf(await context.config(), snapshot);
    const applied = await readApplied(url, { probeMs: context.probeMs, signal });
    return compareVersions(newest, applied, RESTART);
  },
};

/** The schema of the embedded store, or of the stack's database, is known to its node alone. */
async function throughNode(context: ProbeContext, newest: number): Promise<Outcome> {
  const { schema_version: version, memory } = await context.health();
  if (memory["reachable"] === false) throw withoutDatabase();
  if (version === null) return skip("The node does not say which schema its store has.");
  const isDeployed = (await context.target()) !== null;
  return compareVersions(newest, [{ version, compatible_from: version }], isDeployed ? NEW_IMAGE : RESTART);
}

const RESTART = "`cairn restart` brings it up to date; make a backup first: `cairn memory backup`.";
const NEW_IMAGE =
  "A node with an image of this version brings it up to date: `cairn memory backup`, `cairn build`, then `cairn infra up --image IMAGE`.";

function compareVersions(newest: number, applied: readonly Applied[] | null, update: string): Outcome {
  const last = applied?.at(-1);
  if (last === undefined) {
    return warn("The database has no schema yet.", "The first `cairn start` makes it.");
  }
  const { version, compatible_from: compatible } = last;
  if (version === newest) return pass(`The schema is up to date (${version}).`);
  if (version < newest) {
    return warn(`The schema is of version ${version}, this program's is ${newest}.`, update);
  }
  if (compatible <= newest)
    return pass(`The schema (${version}) is newer than this program's (${newest}), and fits it.`);
  return fail(
    `The schema of the database (${version}) is newer than this program can work with (${newest}).`,
    "Update cairn: `cairn update`.",
  );
}

/** Null when no migration was ever applied. */
async function readApplied(url: string, asking: { readonly probeMs: number; readonly signal: AbortSignal }) {
  try {
    return await askServer<Applied>(
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
