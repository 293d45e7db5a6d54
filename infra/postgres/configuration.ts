/**
 * What a deployment's PostgreSQL is started with, the same on every target: its files, its environment, its command, and the
 * address that nodes find it under. The start script stands beside this file.
 */

import { readFileSync } from "node:fs";
import { POSTGRES } from "../plan/types.ts";

/** A file below POSTGRES.configuration, for the user of PostgreSQL to read. */
export interface PostgresFile {
  readonly name: string;
  readonly content: string;
}

export const POSTGRES_PASSWORD_FILE = "password";
const START_SCRIPT = "start.sh";
const HBA_FILE = "pg_hba.conf";

/** Inside the container everybody is the server's own user; from the network nobody comes in without the password. */
const HBA = ["# type database user address method", "local all all trust", "host all all all scram-sha-256", ""].join(
  "\n",
);

/** Start script and access rules. The password is a file of its own, POSTGRES_PASSWORD_FILE, for the caller to keep secret. */
export function postgresFiles(): readonly PostgresFile[] {
  return [
    { name: START_SCRIPT, content: readFileSync(new URL(START_SCRIPT, import.meta.url), "utf8") },
    { name: HBA_FILE, content: HBA },
  ];
}

/** Nothing of it is secret. `data`: where the cluster is, POSTGRES.data or a folder below it. */
export function postgresEnvironment(data: string = POSTGRES.data): Readonly<Record<string, string>> {
  return {
    PGDATA: data,
    POSTGRES_DB: POSTGRES.database,
    POSTGRES_HBA_FILE: `${POSTGRES.configuration}/${HBA_FILE}`,
    POSTGRES_PASSWORD_FILE: `${POSTGRES.configuration}/${POSTGRES_PASSWORD_FILE}`,
    POSTGRES_USER: POSTGRES.role,
  };
}

/** Takes the place of the image's entrypoint. */
export function postgresCommand(): readonly string[] {
  return ["/bin/sh", `${POSTGRES.configuration}/${START_SCRIPT}`];
}

/** Over TCP on purpose: while the start script prepares the data nothing listens there. */
export function postgresProbe(): readonly string[] {
  return [
    "pg_isready",
    "-q",
    "-h",
    "127.0.0.1",
    "-p",
    String(POSTGRES.port),
    "-U",
    POSTGRES.role,
    "-d",
    POSTGRES.database,
  ];
}

/** The value of POSTGRES.variable. */
export function connectionString(host: string, port: number, password: string): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `postgres://${POSTGRES.role}:${encode(password)}@${name}:${port}/${POSTGRES.database}`;
}

/** Also what a URL would allow and what quotes of a shell or of a `.env` would need care for. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
