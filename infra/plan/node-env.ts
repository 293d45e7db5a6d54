/** A node's `.env`, the same on every target: what it needs of the operator's variables, and the deployed database's address. */

import { renderEnvFile } from "./env-file.ts";
import { type NodePlan, POSTGRES } from "./types.ts";

/**
 * The text. A variable without a value is left out, so that the node names what it misses; the stack's own database comes
 * before a value that the operator has for another one. INFRA_PLAN_INVALID as `renderEnvFile`.
 */
export function renderNodeEnv(
  node: Pick<NodePlan, "name" | "secretVariables">,
  values: Readonly<Record<string, string>>,
  databaseUrl: string | null,
): string {
  const usual: Readonly<Record<string, string>> =
    databaseUrl === null ? values : { ...values, [POSTGRES.variable]: databaseUrl };
  const own = node.secretVariables
    .filter((name) => Object.hasOwn(usual, name))
    .map((name) => [name, usual[name] ?? ""]);
  return `# Written for node ${node.name} by its deployment.\n${renderEnvFile(Object.fromEntries(own))}`;
}
