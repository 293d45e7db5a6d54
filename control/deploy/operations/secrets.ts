/** What a stack keeps encrypted in its configuration: the password and the certificate of its PostgreSQL. */

import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { POSTGRES_PASSWORD, POSTGRES_TLS } from "../../../infra/program.ts";
import type { StackSecret } from "../engine/engine.ts";
import { generateSecret } from "../state/passphrase.ts";

const RENEWAL_KEY = `${POSTGRES_TLS}RenewAt`;

export function stackSecrets(plan: DeploymentPlan, now: Date): readonly StackSecret[] {
  if (plan.postgres === null) return [];
  return [
    { key: POSTGRES_PASSWORD, make: async () => ({ value: generateSecret() }) },
    {
      key: POSTGRES_TLS,
      renewal: { key: RENEWAL_KEY, today: now.toISOString().slice(0, 10) },
      async make() {
        // Loaded once in years.
        const { generatePostgresTls } = await import("../state/postgres-tls.ts");
        const { pem, renewAt } = await generatePostgresTls(now);
        return { value: pem, renewAt };
      },
    },
  ];
}
