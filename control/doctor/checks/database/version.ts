/** The version of PostgreSQL. */

import { type ServerFacts, serverOf } from "../../context/database.ts";
import { type Check, fail, type Outcome, pass, Unavailable } from "../check.ts";

const OLDEST = 160_000;

export const databaseVersion: Check = {
  id: "database.version",
  subject: "the version of PostgreSQL",
  async run(context) {
    const snapshot = await context.database();
    if (snapshot.backend === "embedded") {
      if (snapshot.store.major === null) throw new Unavailable("There is no embedded store yet.");
      return pass(`The embedded store is that of PostgreSQL ${snapshot.store.major}.`);
    }
    return ofVersion(serverOf(snapshot));
  },
};

/** Whether the service can use a server of this version. */
export function ofVersion({ number, version }: ServerFacts): Outcome {
  if (number >= OLDEST) return pass(`PostgreSQL ${version}.`);
  return fail(
    `PostgreSQL ${version} is too old: 16 or newer is needed.`,
    "Upgrade the server (pg_upgrade, or dump and restore), after `cairn memory backup`.",
  );
}
