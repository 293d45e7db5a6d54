/**
 * What a deployment's PostgreSQL is started with, the same on every target: its files, its environment, its command, and the
 * address that nodes find it under. The start script is next to this file.
 */

import { readFileSync } from "node:fs";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { POSTGRES, type PostgresSecrets } from "../plan/types.ts";

/** A file below POSTGRES.configuration, for the user of PostgreSQL to read. */
export interface PostgresFile {
  readonly name: string;
  readonly content: string;
}

const POSTGRES_PASSWORD_FILE = "password";
/** Private key and certificates of the server, PEM. */
const POSTGRES_TLS_FILE = "server.pem";
export const POSTGRES_SECRET_FILES = [POSTGRES_PASSWORD_FILE, POSTGRES_TLS_FILE] as const;
type SecretFile = (typeof POSTGRES_SECRET_FILES)[number];
const START_SCRIPT = "start.sh";
const HBA_FILE = "pg_hba.conf";

/** Start script and access rules for everybody on the network. */
export function postgresFiles(addresses: readonly string[] = ["all"]): readonly PostgresFile[] {
  return [
    { name: START_SCRIPT, content: readFileSync(new URL(START_SCRIPT, import.meta.url), "utf8") },
    { name: HBA_FILE, content: accessRules(addresses) },
  ];
}

/** The secret files by name; only the Pulumi program has their content. */
export function postgresSecretFiles({ password, tls }: PostgresSecrets): Readonly<Record<SecretFile, string>> {
  return { [POSTGRES_PASSWORD_FILE]: `${password}\n`, [POSTGRES_TLS_FILE]: tls };
}

/**
 * pg_hba.conf: the nodes' role with its password, over TLS alone, from `addresses`; the superuser by the local socket alone, as
 * the user that the server runs as. Everything else is refused.
 */
function accessRules(addresses: readonly string[]): string {
  const { role, database } = POSTGRES;
  const from = ["127.0.0.1/32", "::1/128", ...addresses];
  return [
    "# type database user address method",
    "local all postgres peer",
    ...from.map((address) => `hostssl ${database} ${role} ${address} scram-sha-256`),
    "",
  ].join("\n");
}

/** Nothing of it is secret. `data`: where the cluster is, POSTGRES.data or a folder below it. */
export function postgresEnvironment(data: string = POSTGRES.data): Readonly<Record<string, string>> {
  return {
    PGDATA: data,
    POSTGRES_DB: POSTGRES.database,
    POSTGRES_HBA_FILE: `${POSTGRES.configuration}/${HBA_FILE}`,
    POSTGRES_PASSWORD_FILE: `${POSTGRES.configuration}/${POSTGRES_PASSWORD_FILE}`,
    POSTGRES_TLS_FILE: `${POSTGRES.configuration}/${POSTGRES_TLS_FILE}`,
    POSTGRES_USER: POSTGRES.role,
  };
}

/** Takes the place of the image's entrypoint. */
export function postgresCommand(): readonly string[] {
  return ["/bin/sh", `${POSTGRES.configuration}/${START_SCRIPT}`];
}

/** Over TCP on purpose: while the start script prepares the data nothing listens there. */
export function postgresProbe(port: number = POSTGRES.port): readonly string[] {
  return ["pg_isready", "-q", "-h", "127.0.0.1", "-p", String(port), "-U", POSTGRES.role, "-d", POSTGRES.database];
}

/** What a node reaches the stack's own database with. */
export interface DatabaseAccess {
  /** The value of POSTGRES.variable. */
  readonly url: string;
  /** Content of POSTGRES.certificate. Not secret. */
  readonly certificate: string;
}

/**
 * The server must show a certificate of the stack's own authority (`verify-ca` with no other one), whatever its address is.
 * Without `uselibpqcompat` the driver reads every sslmode as verify-full.
 */
export function databaseAccess(host: string, port: number, { password, tls }: PostgresSecrets): DatabaseAccess {
  const name = host.includes(":") ? `[${host}]` : host;
  const verification = `sslmode=verify-ca&uselibpqcompat=true&sslrootcert=${encodeURIComponent(POSTGRES.certificate)}`;
  return {
    url: `postgres://${POSTGRES.role}:${encode(password)}@${name}:${port}/${POSTGRES.database}?${verification}`,
    certificate: pinnedCertificate(tls),
  };
}

/**
 * What nodes pin, of PostgresSecrets.tls: the authority's certificate, the last one. Stacks from before the authority have one
 * certificate, which is the server's own.
 */
export function pinnedCertificate(pem: string): string {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1);
  if (found !== undefined) return `${found}\n`;
  throw new InfraError("INFRA_PLAN_INVALID", "cairn:postgresTls of the stack's configuration holds no certificate.", {
    hint: "Remove it from the stack's configuration: `cairn infra up` makes another one.",
  });
}

/** Also what a URL would allow and what quotes of a shell or of a `.env` would need care for. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
