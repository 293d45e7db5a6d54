/** The extensions that the schema needs: pgvector for vectors, pg_trgm for similar spelling. */

import { isOlder } from "../../../../runtime/contracts/versions.ts";
import { type ServerFacts, serverOf } from "../../context/database.ts";
import { type Check, fail, type Outcome, pass } from "../check.ts";

const OLDEST_VECTOR = "0.8";

export const databaseExtensions: Check = {
  id: "database.extensions",
  subject: "the extensions pgvector and pg_trgm",
  async run(context) {
    return ofExtensions(serverOf(await context.database()));
  },
};

/** Whether the server has what the schema needs, or the role may create it. */
export function ofExtensions({ vector, trgm, forbidden, version }: ServerFacts): Outcome {
  const major = version.split(".")[0];
  if (vector === null) {
    return fail(
      "The PostgreSQL server has no pgvector: 0.8 or newer is needed.",
      `Install it on the server: the package postgresql-${major}-pgvector, or the image pgvector/pgvector:pg${major}.`,
    );
  }
  if (isOlder(vector, OLDEST_VECTOR)) {
    return fail(
      `pgvector ${vector} is too old: 0.8 or newer is needed.`,
      "Install a newer one on the server, then run `alter extension vector update` in the database.",
    );
  }
  if (trgm === null) {
    return fail(
      "The PostgreSQL server has no pg_trgm.",
      "Install PostgreSQL's contrib package on the server (postgresql-contrib).",
    );
  }
  if (forbidden.length > 0) {
    return fail(
      `The database lacks ${forbidden.join(" and ")}, which the role of the connection may not create: the node cannot start.`,
      `Let a superuser run ${forbidden.map((name) => `\`create extension ${name}\``).join(" and ")} in the database once.`,
    );
  }
  return pass(`pgvector ${vector} and pg_trgm ${trgm} are there.`);
}
