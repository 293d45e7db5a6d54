/** Debian's sshd on a free loopback port, with a host key and one user key of its own, in a folder that goes with it. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { freePort } from "../ports.ts";

export interface SshServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** `ssh-ed25519 AAAA...`. */
  readonly hostKey: string;
  /** Private key that the server lets in. */
  readonly identityFile: string;
  /** Private key that it does not know. */
  readonly strangerFile: string;
  /** Public key of no server. */
  readonly otherKey: string;
  stop(): Promise<void>;
}

export interface SshServerOptions {
  /** For the commands that run over it; PATH is put in front of the usual one. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Where the server lies that Debian installs, whether or not PATH has it. */
const PROGRAM = "/usr/sbin/sshd";

/** The caller's own user may log in with the key; root may, too, if the tests run as root. */
export async function startSshd(options: SshServerOptions = {}): Promise<SshServer> {
  const folder = await mkdtemp(join(tmpdir(), "cairn-sshd-"));
  await chmod(folder, 0o700);
  const [hostKey, otherKey] = await Promise.all(["host", "other"].map((name) => key(folder, name)));
  const publicKey = await key(folder, "user");
  await key(folder, "stranger");
  await writeFile(join(folder, "authorized_keys"), `${publicKey}\n`, { mode: 0o600 });
  // Root's sshd wants this folder, which Debian's service makes at each start.
  if (process.getuid?.() === 0) await mkdir("/run/sshd", { recursive: true, mode: 0o755 });
  const port = await freePort();
  const environment = Object.entries(options.environment ?? {}).map(([name, value]) => `"${name}=${value}"`);
  await writeFile(
    join(folder, "sshd_config"),
    [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${join(folder, "host")}`,
      `AuthorizedKeysFile ${join(folder, "authorized_keys")}`,
      "AuthenticationMethods publickey",
      "PermitRootLogin prohibit-password",
      "StrictModes no",
      "UsePAM no",
      "PidFile none",
      "LogLevel ERROR",
      "MaxStartups 100",
      ...(environment.length === 0 ? [] : [`SetEnv ${environment.join(" ")}`]),
      "",
    ].join("\n"),
  );
  const server = spawn(PROGRAM, ["-D", "-e", "-f", join(folder, "sshd_config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let words = "";
  server.stderr.on("data", (chunk) => {
    words += String(chunk);
  });
  await listening(server, port, () => words);
  return {
    host: "127.0.0.1",
    port,
    user: userInfo().username,
    hostKey: hostKey ?? "",
    otherKey: otherKey ?? "",
    identityFile: join(folder, "user"),
    strangerFile: join(folder, "stranger"),
    stop: async () => {
      if (server.exitCode === null && server.signalCode === null) {
        const ended = once(server, "exit");
        server.kill("SIGTERM");
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Makes a key pair and returns the public key without its comment. */
async function key(folder: string, name: string): Promise<string> {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", join(folder, name)]);
  const [kind, data] = (await readFile(join(folder, `${name}.pub`), "utf8")).trim().split(" ");
  return `${kind} ${data}`;
}

async function listening(server: ChildProcess, port: number, words: () => string): Promise<void> {
  const deadline = Date.now() + EVENTUALLY_MS;
  while (!(await answers(port))) {
    if (server.exitCode !== null || Date.now() > deadline) throw new Error(`sshd did not start: ${words()}`);
    await sleep(50);
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
