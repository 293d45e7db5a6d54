/** Keys and certificates of a database that is connected to. `postgres-tls.ts` has what only looks like them. */

import { generateAuthority, issueServerTls } from "../../control/deploy/state/postgres-tls.ts";

/** As `infra up` makes it for a new stack: `PostgresSecrets.tls`. */
export async function realTls(now = new Date()): Promise<string> {
  return (await issueServerTls(await generateAuthority(now), now)).pem;
}
