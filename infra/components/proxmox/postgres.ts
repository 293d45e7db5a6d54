/** Settings of PostgreSQL in its own CT, and the addresses that may connect. Pure but for reading the start script. */

import { type PlannedFile, POSTGRES, type PostgresSecrets, type ProxmoxPlan } from "../../plan/types.ts";
import { postgresFiles, postgresSecretFiles } from "../../postgres/configuration.ts";

/** All files of PostgreSQL's container, the secret ones among them. */
export function databaseFiles(plan: ProxmoxPlan, secrets: PostgresSecrets): readonly PlannedFile[] {
  const open = postgresFiles(clientAddresses(plan)).map(({ name, content }) => [name, content] as const);
  return [...open, ...Object.entries(postgresSecretFiles(secrets))].map(([name, content]) => ({
    path: `${POSTGRES.configuration}/${name}`,
    content,
  }));
}

/**
 * Addresses in pg_hba.conf. The CT's own lies in the operator's network, so the server itself refuses all but the nodes,
 * before it asks for a password: by address where a node's is fixed; where one comes from DHCP, its whole network may connect. With
 * `publish` every address may.
 */
function clientAddresses(plan: ProxmoxPlan): readonly string[] {
  if (plan.postgres?.publish != null) return ["all"];
  const fixed = plan.nodes.filter((node) => node.address !== "dhcp").map((node) => node.address.split("/")[0] ?? "");
  return [
    ...fixed.map((address) => `${address}/${address.includes(":") ? 128 : 32}`),
    ...(fixed.length < plan.nodes.length ? ["samenet"] : []),
  ];
}
