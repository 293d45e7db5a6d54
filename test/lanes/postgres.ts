/**
 * A private PostgreSQL server for tests and benches: a fresh cluster in a temporary folder, loopback and a Unix socket in
 * that folder only, fsync on. It ends with the process that started it, even when that process is killed.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../support/ports.ts";
import { EVENTUALLY_MS } from "./patience.ts";
import { findPostgres } from "./postgres-binaries.ts";

const POLL_MS = 50;

export interface PostgresServer {
  /** Superuser, database `postgres`, over TCP on loopback. */
  readonly url: string;
  /**
   * Ends the server at once, as a power cut would; the data stays. SIGKILL ends its first process alone, and SIGINT is a
   * fast stop, which is no crash.
   */
  crash(signal?: "SIGQUIT" | "SIGKILL" | "SIGINT"): Promise<void>;
  /** Starts it again after `crash`, at the same address. */
  restart(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

interface Running {
  /** Closing its standard input ends the server. */
  readonly end: () => void;
  readonly ended: Promise<unknown>;
  readonly hasEnded: () => boolean;
}

/** Starts a server. Throws when no suitable PostgreSQL is installed or it does not answer in time. */
export async function startPostgres(): Promise<PostgresServer> {
  const binaries = findPostgres();
  if (!binaries.ok) throw new Error(binaries.reason);
  // The server refuses to run as root; the temporary folder of root is not everybody's, that of a test run is.
  const identity = process.getuid?.() === 0 ? postgresUser() : undefined;
  const parent = process.env.CAIRN_TEST_MEMORY ?? (identity === undefined ? tmpdir() : "/tmp");
  const folder = mkdtempSync(join(parent, "cairn-pg-"));
  try {
    if (identity !== undefined) chownSync(folder, identity.uid, identity.gid);
    initialise(binaries.bin, folder, identity);
    const port = await freePort();
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    let running = await launch(binaries.bin, folder, port, url, identity);
    return {
      url,
      async crash(signal = "SIGQUIT") {
        process.kill(serverPid(folder), signal);
        await within(EVENTUALLY_MS, running.ended, "PostgreSQL did not crash");
      },
      async restart() {
        const deadline = Date.now() + EVENTUALLY_MS;
        for (;;) {
          try {
            running = await launch(binaries.bin, folder, port, url, identity);
            return;
          } catch (error) {
            // Processes of one that was killed may live on for a moment and have its memory.
            if (!String(error).includes("still in use") || Date.now() > deadline) throw error;
            await sleep(POLL_MS);
          }
        }
      },
      async stop() {
        running.end();
        await within(EVENTUALLY_MS, running.ended, "PostgreSQL did not stop");
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function initialise(bin: string, folder: string, identity: Identity | undefined): void {
  const locale = process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8";
  const result = spawnSync(
    join(bin, "initdb"),
    ["-D", join(folder, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", `--locale=${locale}`, "--no-sync"],
    { encoding: "utf8", cwd: folder, timeout: EVENTUALLY_MS, ...identity },
  );
  if (result.status !== 0) throw new Error(`initdb failed: ${result.stderr || String(result.error)}`);
}

/**
 * The server runs below a small shell that waits for the end of its standard input, a pipe from this process: however this
 * process ends, the pipe closes, and the shell ends the server and removes its data.
 */
const SUPERVISOR = `
exec 3<&0
"$1/postgres" -D "$2/data" -p "$3" -k "$2" -h 127.0.0.1 -c max_connections=400 -c fsync=on >"$2/server.log" 2>&1 3<&- &
server=$!
{ cat >/dev/null; : >"$2/ending"; kill -INT "$server" 2>/dev/null; } <&3 &
guard=$!
wait "$server"
if [ -e "$2/ending" ]; then rm -rf "$2"; fi
kill "$guard" 2>/dev/null
`;

async function launch(
  bin: string,
  folder: string,
  port: number,
  url: string,
  identity: Identity | undefined,
): Promise<Running> {
  const shell = spawn("/bin/sh", ["-c", SUPERVISOR, "sh", bin, folder, String(port)], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: folder,
    // A session of its own: Ctrl-C in the terminal reaches the tests first, which then end the server.
    detached: true,
    ...identity,
  });
  const ended = once(shell, "close");
  const running: Running = {
    end: () => shell.stdin.end(),
    ended,
    hasEnded: () => shell.exitCode !== null || shell.signalCode !== null,
  };
  const deadline = Date.now() + EVENTUALLY_MS;
  while (!(await answers(url))) {
    if (running.hasEnded() || Date.now() > deadline) {
      const log = readFileSync(join(folder, "server.log"), "utf8");
      running.end();
      throw new Error(`PostgreSQL did not start: ${log}`);
    }
    await sleep(POLL_MS);
  }
  return running;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // A connection that breaks later must not end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function serverPid(folder: string): number {
  return Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
}

function postgresUser(): Identity {
  const ask = (flag: string): number => {
    const result = spawnSync("id", [flag, "postgres"], { encoding: "utf8" });
    if (result.status !== 0) throw new Error("PostgreSQL does not run as root, and there is no user postgres");
    return Number(result.stdout.trim());
  };
  return { uid: ask("-u"), gid: ask("-g") };
}

async function within(ms: number, promise: Promise<unknown>, message: string): Promise<void> {
  const abort = new AbortController();
  const late = sleep(ms, undefined, { signal: abort.signal }).then(() => {
    throw new Error(message);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    abort.abort();
    late.catch(() => {});
  }
}
