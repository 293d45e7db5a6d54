/** What PostgreSQL in its own CT is given, and who may reach it. Pure but for reading the start script. */

import { type PlannedFile, POSTGRES, type ProxmoxPlan } from "../../plan/types.ts";
import { POSTGRES_PASSWORD_FILE, postgresFiles } from "../../postgres/configuration.ts";

const HBA = "pg_hba.conf";

/** All files of PostgreSQL's container; `password` makes them a secret. */
export function databaseFiles(plan: ProxmoxPlan, password: string): readonly PlannedFile[] {
  const file = (name: string, content: string): PlannedFile => ({ path: `${POSTGRES.configuration}/${name}`, content });
  return [
    ...postgresFiles().map(({ name, content }) => file(name, name === HBA ? accessRules(plan) : content)),
    file(POSTGRES_PASSWORD_FILE, `${password}\n`),
  ];
}

/**
 * pg_hba.conf. The CT's address lies in the operator's network, so the server itself turns away everybody but the nodes, before
 * any password is asked for: by address where a node's is fixed; where one comes from DHCP, its whole network may ask. With
 * `publish` everybody may. Always with SCRAM.
 */
export function accessRules(plan: ProxmoxPlan): string {
  const fixed = plan.nodes.filter((node) => node.address !== "dhcp").map((node) => node.address.split("/")[0] ?? "");
  const rule = (address: string): string => `host ${POSTGRES.database} ${POSTGRES.role} ${address} scram-sha-256`;
  const nodes =
    plan.postgres?.publish != null
      ? [rule("all")]
      : [
          ...fixed.map((address) => rule(`${address}/${address.includes(":") ? 128 : 32}`)),
          ...(fixed.length < plan.nodes.length ? [rule("samenet")] : []),
        ];
  return [
    "# type database user address method",
    "local all all trust",
    "host all all 127.0.0.1/32 scram-sha-256",
    "host all all ::1/128 scram-sha-256",
    ...nodes,
    "",
  ].join("\n");
}
