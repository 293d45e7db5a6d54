/** Whether the memory crosses a network in the clear. */

import { type Check, pass, skip, Unavailable, warn } from "../check.ts";
import { issueLine } from "../config/issues.ts";

export const databaseTls: Check = {
  id: "database.tls",
  subject: "connections to the database without TLS",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("warnings" in snapshot))
      throw new Unavailable("The configuration cannot be read.", ["config.present", "config.syntax"]);
    const plain = snapshot.warnings.filter(({ code }) => code === "plain-database").map(issueLine);
    if (plain.length > 0) {
      return warn(
        `Plain PostgreSQL: ${plain.join("; ")}.`,
        "End the address with `?sslmode=verify-full` (SERVICE_PG_URL in .env), and give the server a certificate for its name.",
      );
    }
    if (snapshot.state === "valid" && snapshot.config.memory.backend === "embedded")
      return skip("The store is embedded: there is no server.");
    return pass("No connection to a database leaves this machine without TLS.");
  },
};
