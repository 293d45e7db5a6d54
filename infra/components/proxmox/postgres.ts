/** What PostgreSQL in its own CT is given, and who may reach it. Pure but for reading the start script. */

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
 * Addresses in pg_hba.conf. The CT's own lies in the operator's network, so the server itself turns away everybody but the nodes,
 * before any password is asked for: by address where a node's is fixed; where one comes from DHCP, its whole network may ask. With
 * `publish` everybody may.
 */
function clientAddresses(plan: ProxmoxPlan): readonly string[] {
  if (plan.postgres?.publish != null) return ["all"];
  const fixed = plan.nodes.filter((node) => node.address !== "dhcp").map((node) => node.address.split("/")[0] ?? "");
  return [
    ...fixed.map((address) => `${address}/${address.includes(":") ? 128 : 32}`),
    ...(fixed.length < plan.nodes.length ? ["samenet"] : []),
  ];
}
