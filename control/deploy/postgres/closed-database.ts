/**
 * Keeps nodes out of the database of a server that goes on. A shell in its container closes it, waits for the end of its standard
 * input, and opens it: that end comes also when this process is killed. A start of the server opens it, too.
 */

import { execa } from "execa";
import { POSTGRES } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { killGroup } from "../../service/processes.ts";
import type { ClosedDatabase } from "../driver.ts";
import type { Server } from "./programs.ts";

/** Milliseconds until it has been opened: one statement. A host that fell silent never says so. */
const OPEN_MS = 30_000;

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

/**
 * `signal` ends the wait until it is closed; after that `open` alone opens it, which takes at most `openMs`: where the way there is lost, the
 * shell opens it as soon as the host notices that, and a start of the server does.
 */
export async function closeDatabase(
  server: Server,
  signal: AbortSignal,
  openMs: number = OPEN_MS,
): Promise<ClosedDatabase> {
  signal.throwIfAborted();
  const command = await server.command(["/bin/sh", "-c", script(server.port)], { input: true });
  // In a session of its own: Ctrl-C in the terminal would end it, and let nodes in, before this process has heard of it.
  const shell = execa(command.program, command.args, { reject: false, stdin: "pipe", detached: true });
  const kill = (): void => killGroup(shell.pid);
  signal.addEventListener("abort", kill, { once: true });
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
  signal.removeEventListener("abort", kill);
  if (!words.startsWith("closed")) {
    shell.stdin.end();
    signal.throwIfAborted();
    throw server.failure((await ended).stderr ?? "", `psql in ${server.name}`);
  }
  return {
    closed: () => !open,
    async open() {
      shell.stdin.end();
      const timer = setTimeout(kill, openMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** INFRA_HOST_UNREACHABLE where it is not answered in `openMs`. */
export async function openDatabase(server: Server, signal: AbortSignal, openMs: number = OPEN_MS): Promise<void> {
  const command = await server.command(["/bin/sh", "-c", psql(server.port, limit(-1))], { input: false });
  const options = { reject: false, stdin: "ignore", cancelSignal: signal, timeout: openMs } as const;
  const result = await execa(command.program, command.args, options);
  await command.close();
  signal.throwIfAborted();
  if (result.timedOut) {
    throw new InfraError("INFRA_HOST_UNREACHABLE", `${server.name} did not answer in time.`, {
      hint: "See whether its host runs and can be reached.",
    });
  }
  if (result.failed) throw server.failure(result.stderr, `psql in ${server.name}`);
}
