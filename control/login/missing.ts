/** Deployed nodes whose configuration has a login that nobody has made yet. */

import { type Config, loginOf } from "../../runtime/config/index.ts";
import type { Finding } from "../deploy/driver.ts";
import { openStack } from "../service/deployed-stack.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";
import { chosenMembers, statusOnNodes } from "./on-nodes.ts";
import { loginTarget } from "./target.ts";

/** Providers that are asked with a login: those with a key do not need one. Pure. */
export function providersWithLogin({ providers }: Pick<Config, "providers">): readonly string[] {
  return Object.entries(providers).flatMap(([id, provider]) =>
    provider.api_key === undefined && loginOf(provider) !== null ? [id] : [],
  );
}

/** Asks the nodes only where the configuration has a login. Errors of `openStack`. */
export async function missingLogins(deployment: Deployment, signal: AbortSignal): Promise<readonly Finding[]> {
  const { loaded } = await inspectWithoutSecrets(deployment, signal);
  const ids = loaded === null ? [] : providersWithLogin(loaded.config);
  const stack = ids.length === 0 ? null : await openStack(deployment, signal);
  if (stack === null) return [];
  const results = await Promise.all(
    ids.map(async (id) =>
      statusOnNodes(stack, chosenMembers(stack, undefined), await loginTarget(deployment, id, signal), signal),
    ),
  );
  return results.flatMap(({ provider, nodes }) =>
    nodes.flatMap(({ node, logged_in: loggedIn, problem }): Finding[] =>
      loggedIn
        ? []
        : [
            {
              severity: "warning",
              code: "PROVIDER_UNAUTHORIZED",
              message: `The node ${node} has no login of ${provider}${problem === null ? "" : ` (${problem})`}.`,
              hint: `Run \`cairn login ${provider} --node ${node}\`.`,
            },
          ],
    ),
  );
}
