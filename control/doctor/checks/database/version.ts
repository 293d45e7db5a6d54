/** The version of PostgreSQL. */

import { serverOf } from "../../scene/database.ts";
import { type Check, fail, pass, Unavailable } from "../check.ts";

const OLDEST = 160_000;

export const databaseVersion: Check = {
  id: "database.version",
  subject: "the version of PostgreSQL",
  async run(scene) {
    const look = await scene.database();
    if (look.backend === "embedded") {
      if (look.store.major === null) throw new Unavailable("There is no embedded store yet.");
      return pass(`The embedded store is that of PostgreSQL ${look.store.major}.`);
    }
    const { number, version } = serverOf(look);
    if (number >= OLDEST) return pass(`PostgreSQL ${version}.`);
    return fail(
      `PostgreSQL ${version} is too old: 16 or newer is needed.`,
      "Upgrade the server (pg_upgrade, or dump and restore), after `cairn memory backup`.",
    );
  },
};
