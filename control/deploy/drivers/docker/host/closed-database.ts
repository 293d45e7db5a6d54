/**
 * Keeps nodes out of the database of a server that goes on. A shell in its container closes it, waits for the end of its standard
 * input, and opens it: that end comes also when this process is killed. A start of the server opens it, too.
 */

import { execa } from "execa";
import { POSTGRES } from "../../../../../infra/plan/types.ts";
import type { ClosedDatabase } from "../../../driver.ts";
import { askDocker, type DockerHost, dockerArguments, dockerFailure } from "../../../images/docker-cli.ts";

/** A limit of connections does not count for the superuser. */
const limit = (connections: number): string => `ALTER DATABASE ${POSTGRES.database} CONNECTION LIMIT ${connections}`;
const END_ALL = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${POSTGRES.database}'`;
const psql = (sql: string): string => `psql -XqAt -U postgres -d postgres -v ON_ERROR_STOP=1 -c "${sql}"`;

const SCRIPT = [
  "trap '' HUP INT TERM",
  `trap '${psql(limit(-1))}' EXIT`,
  "set -e",
  psql(limit(0)),
  `ended=$(${psql(END_ALL)})`,
  "echo closed",
  "while read -r line; do :; done",
].join("\n");

export async function closeDatabase(container: string, host: DockerHost, signal: AbortSignal): Promise<ClosedDatabase> {
  signal.throwIfAborted();
  const args = dockerArguments(["exec", "-i", container, "/bin/sh", "-c", SCRIPT], host);
  // In a session of its own: Ctrl-C in the terminal would end it, and let nodes in, before this process has heard of it.
  const shell = execa("docker", args, { reject: false, stdin: "pipe", detached: true });
  let open = false;
  const ended = shell.then((result) => {
    open = true;
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

export async function openDatabase(container: string, host: DockerHost, signal: AbortSignal): Promise<void> {
  const words = ["psql", "-XqAt", "-U", "postgres", "-d", "postgres", "-c", limit(-1)];
  await askDocker(["exec", container, ...words], { host, signal });
}
