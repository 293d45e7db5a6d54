/** What is asked of a PostgreSQL by the programs in its own container, the same wherever that container runs. */

import { execa } from "execa";
import { POSTGRES } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { PartCommand } from "../driver.ts";
import { CONTENTS } from "./contents.ts";

/** A PostgreSQL in a container, and the way into that. */
export interface Server {
  /** Of its container or pod, for errors. */
  readonly name: string;
  readonly port: number;
  /** A program of this machine that runs these words beside the server. `input`: whether they read their standard input. */
  command(argv: readonly string[], options: { readonly input: boolean }): Promise<PartCommand>;
  /** What the words of one that failed mean. */
  failure(words: string, what: string): InfraError;
}

/** Prints the major of the server in an image, then that of the data in `directory`; for a shell. */
export function majorsScript(directory: string): string {
  return `postgres --version; cat ${directory}/PG_VERSION 2>&1 || :`;
}

/** Of what `majorsScript` prints. INFRA_IMAGE_MISSING where `image` has no PostgreSQL. */
export function readMajors(text: string, image: string): { readonly server: number; readonly data: number | null } {
  const [version = "", data = ""] = text.split("\n");
  const server = /^postgres \(PostgreSQL\) (\d+)/.exec(version)?.[1];
  if (server === undefined) {
    throw new InfraError("INFRA_IMAGE_MISSING", `${image} is no image of PostgreSQL: it says "${version}".`);
  }
  return { server: Number(server), data: /^\d+$/.test(data) ? Number(data) : null };
}

/** Standard output of a program beside the server. */
export async function runInside(server: Server, argv: readonly string[], signal: AbortSignal): Promise<string> {
  const command = await server.command(argv, { input: false });
  const result = await execa(command.program, command.args, { reject: false, stdin: "ignore", cancelSignal: signal });
  await command.close();
  signal.throwIfAborted();
  if (result.failed) throw server.failure(wordsOf(result), `${argv[0]} in ${server.name}`);
  return result.stdout;
}

/** Bytes of all databases, and what their disk has free. */
export async function roomOf(
  server: Server,
  signal: AbortSignal,
): Promise<{ readonly used: number; readonly free: number }> {
  const used = await psql(server, "SELECT sum(pg_database_size(oid)) FROM pg_database;", signal);
  const free = (await runInside(server, ["df", "-Pk", POSTGRES.data], signal)).split("\n")[1]?.split(/\s+/)[3];
  return { used: Number(used), free: Number(free) * 1024 };
}

/** A line for each relation, trigger, routine and extension, and for each table its rows, sorted. */
export async function contentsOf(server: Server, signal: AbortSignal): Promise<string[]> {
  return (await psql(server, CONTENTS, signal)).split("\n").sort();
}

/** The database of one server into another. `from`: major of the first. */
export async function copyDatabase(own: Server, second: Server, from: number, signal: AbortSignal): Promise<void> {
  // Both extensions are there already, made by the superuser. The nodes' role owns everything else, and is who restores it: what
  // it has written into its database does not run as the superuser.
  // The long name of `-b` is another one before PostgreSQL 16.
  const only = from >= 17 ? ["--exclude-extension=*"] : ["--extension=plpgsql", "-b"];
  const address = `host=127.0.0.1 port=${second.port} sslmode=require user=${POSTGRES.role} dbname=${POSTGRES.database}`;
  const restore = `PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") exec pg_restore -d '${address}' --no-owner --no-privileges --exit-on-error`;
  const options = { reject: false, cancelSignal: signal, buffer: { stdout: false } } as const;
  const reader = await own.command(["pg_dump", ...asSuperuser(own), "-Fc", "-Z0", ...only], { input: false });
  const writer = await second.command(["/bin/sh", "-c", restore], { input: true });
  const writing = execa(reader.program, reader.args, options);
  const restored = await writing.pipe(writer.program, writer.args, { ...options, buffer: true });
  const dumped = await writing;
  await Promise.all([reader.close(), writer.close()]);
  signal.throwIfAborted();
  // A restore that fails ends the dump, too: its words come first.
  if (restored.failed) throw second.failure(wordsOf(restored), "pg_restore");
  if (dumped.failed) throw own.failure(dumped.stderr, "pg_dump");
  await psql(second, "ANALYZE;", signal);
}

async function psql(server: Server, sql: string, signal: AbortSignal): Promise<string> {
  const words = ["psql", "-XqAt", ...asSuperuser(server), "-v", "ON_ERROR_STOP=1"];
  const command = await server.command(words, { input: true });
  const result = await execa(command.program, command.args, { reject: false, input: sql, cancelSignal: signal });
  await command.close();
  signal.throwIfAborted();
  if (result.failed) throw server.failure(wordsOf(result), `psql in ${server.name}`);
  return result.stdout;
}

/** A program's last words, else Docker's own: that a command could not be begun is said where its output would be. */
function wordsOf({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  return stderr.trim() === "" ? stdout : stderr;
}

function asSuperuser({ port }: Server): string[] {
  return ["-p", String(port), "-U", "postgres", "-d", POSTGRES.database];
}
