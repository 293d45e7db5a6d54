/**
 * Keeps nodes out of the database of a server that goes on. A shell in its container closes it, waits for the end of its standard
 * input, and opens it: that end comes also when this process is killed. A start of the server opens it, too.
 */

import { execa } from "execa";
import { POSTGRES } from "../../../../../infra/plan/types.ts";
import type { ClosedDatabase } from "../../../driver.ts";
import { askDocker, type DockerEngine, dockerCommand, dockerFailure } from "../../../images/docker-cli.ts";

/** A PostgreSQL in a container. */
export interface Server {
  readonly container: string;
  readonly host: DockerEngine;
  readonly port: number;
}

/** A limit of connections does not count for the superuser. */
const limit = (connections: number): string => `ALTER DATABASE ${POSTGRES.database} CONNECTION LIMIT ${connections}`;
const END_ALL = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${POSTGRES.database}'`;
const psql = (port: number, sql: string): string =>
  `psql -XqAt -p ${port} -U postgres -d postgres -v ON_ERROR_STOP=1 -c "${sql}"`;

const script = (port: number): string =>
  [
    "trap '' HUP INT TERM",
    `trap '${psql(port, limit(-1))}' EXIT`,
    "set -e",
    psql(port, limit(0)),
    `ended=$(${psql(port, END_ALL)})`,
    "echo closed",
    "while read -r line; do :; done",
  ].join("\n");

export async function closeDatabase({ container, host, port }: Server, signal: AbortSignal): Promise<ClosedDatabase> {
  signal.throwIfAborted();
  const command = await dockerCommand(["exec", "-i", container, "/bin/sh", "-c", script(port)], host);
  // In a session of its own: Ctrl-C in the terminal would end it, and let nodes in, before this process has heard of it.
  const shell = execa(command.program, command.args, { reject: false, stdin: "pipe", detached: true });
  let open = false;
  const ended = shell.then(async (result) => {
    open = true;
    await command.close();
    return result;
  });
  const words = await new Promise<string>((resolve) => {
    shell.stdout.once("data", (chunk: Buffer) => resolve(String(chunk)));
    void ended.then(() => resolve(""));
  });
  if (!words.startsWith("closed")) {
    shell.stdin.end();
    throw dockerFailure((await ended).stderr ?? "", `psql in ${container}`, host);
  }
  return {
    closed: () => !open,
    async open() {
      shell.stdin.end();
      await ended;
    },
  };
}

export async function openDatabase({ container, host, port }: Server, signal: AbortSignal): Promise<void> {
  const words = ["psql", "-XqAt", "-p", String(port), "-U", "postgres", "-d", "postgres", "-c", limit(-1)];
  await askDocker(["exec", container, ...words], { host, signal });
}
