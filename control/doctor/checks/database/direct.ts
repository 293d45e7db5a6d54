/** The way around a pooler, which LISTEN and session locks need. */

import { askPostgres, explainConnection } from "../../context/postgres.ts";
import { type Check, fail, pass, skip } from "../check.ts";

export const databaseDirect: Check = {
  id: "database.direct",
  subject: "the direct connection beside a pooler",
  async run(context, signal) {
    const { postgres } = (await context.config()).memory;
    if (postgres?.direct_url === undefined) return skip("There is no memory.postgres.direct_url.");
    if ((await context.target()) !== null) return skip("The nodes connect by it from where they stand.");
    try {
      await askPostgres(postgres.direct_url, "select 1", { probeMs: context.probeMs, signal });
      return pass("memory.postgres.direct_url answers.");
    } catch (error) {
      const { reason } = explainConnection(error);
      return fail(
        `memory.postgres.direct_url cannot be used: ${reason}.`,
        "Correct it (SERVICE_PG_DIRECT_URL): it must lead to the server itself, not to the pooler.",
      );
    }
  },
};
