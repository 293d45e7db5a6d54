/** What a stack keeps encrypted in its configuration: the password, the authority and the certificate of its PostgreSQL. */

import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { POSTGRES_PASSWORD, POSTGRES_TLS } from "../../../infra/program.ts";
import type { StackSecret } from "../engine/engine.ts";
import { generateSecret } from "../state/passphrase.ts";

/** Signs the server's certificates. The program does not read it: nothing of its key reaches a target. */
const POSTGRES_AUTHORITY = "cairn:postgresAuthority";
const RENEWAL_KEY = `${POSTGRES_TLS}RenewAt`;

/** In the order in which they are made: the certificate is signed by the authority. */
export function stackSecrets(plan: DeploymentPlan, now: Date): readonly StackSecret[] {
  if (plan.postgres === null) return [];
  // Loaded once in years.
  const certificates = () => import("../state/postgres-tls.ts");
  return [
    { key: POSTGRES_PASSWORD, make: async () => ({ value: generateSecret() }) },
    { key: POSTGRES_AUTHORITY, make: async () => ({ value: await (await certificates()).generateAuthority(now) }) },
    {
      key: POSTGRES_TLS,
      renewal: { key: RENEWAL_KEY, today: now.toISOString().slice(0, 10) },
      async make(read) {
        const { issueServerTls } = await certificates();
        const { pem, renewAt } = await issueServerTls(await read(POSTGRES_AUTHORITY), now);
        return { value: pem, renewAt };
      },
    },
  ];
}
