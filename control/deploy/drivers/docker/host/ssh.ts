/**
 * SSH to a Docker host: short commands, and the way to a node's port. A host that is not known, or shows another key, is an
 * error; it never prompts. Text of ssh is read by `sshFailure` alone.
 */

import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { SSH_OPTIONS, type SshAddress, sshDestination } from "../../../../../infra/components/docker/address.ts";
import { isForeignListener } from "../../../../../runtime/client/foreign-listener.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import { shellWord } from "../../../../../runtime/contracts/shell-quote.ts";
import type { NodeConnection } from "../../../driver.ts";

/** Milliseconds for a short command, the connection included. */
const COMMAND_MS = 30_000;
/** Milliseconds until a forwarded port must answer. */
const TUNNEL_MS = 20_000;
const KILL_AFTER_MS = 2_000;
const POLL_MS = 50;
/** A connection of our own, whatever the user shares between sessions: it ends when we end it. */
const NOT_SHARED = ["-o", "ControlMaster=no", "-o", "ControlPath=none"];
/** What ssh itself ends with when there is no connection; any other status is the command's. */
const NO_CONNECTION = 255;

export interface RemoteOutcome {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** `words` are quoted for the shell there. INFRA_HOST_KEY_MISMATCH, INFRA_HOST_UNREACHABLE, INFRA_TOOL_MISSING. */
export async function runRemote(
  address: SshAddress,
  words: readonly string[],
  signal: AbortSignal,
  timeoutMs: number = COMMAND_MS,
): Promise<RemoteOutcome> {
  const command = words.map(shellWord).join(" ");
  const result = await execa("ssh", [...SSH_OPTIONS, ...NOT_SHARED, "-T", ...sshDestination(address), command], {
    reject: false,
    stdin: "ignore",
    // Its messages are read.
    env: { LC_ALL: "C" },
    timeout: timeoutMs,
    forceKillAfterDelay: KILL_AFTER_MS,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  if (result.code === "ENOENT") throw sshMissing();
  if (result.timedOut) throw sshFailure(address, "Connection timed out");
  if (result.exitCode === NO_CONNECTION) throw sshFailure(address, result.stderr);
  return { ok: !result.failed, stdout: result.stdout, stderr: result.stderr };
}

/**
 * The program that runs `words` there with its caller's streams. Unlike Docker's own SSH connection it notices a host that has fallen
 * silent, within 75 s, and says nothing of its own.
 */
export function remoteCommand(
  address: SshAddress,
  words: readonly string[],
  terminal: boolean,
): { readonly program: string; readonly args: readonly string[] } {
  const options = [...SSH_OPTIONS, ...NOT_SHARED, "-o", "LogLevel=ERROR", terminal ? "-tt" : "-T"];
  return { program: "ssh", args: [...options, ...sshDestination(address), words.map(shellWord).join(" ")] };
}

/**
 * A port of this machine's loopback that leads to `port` of `target` as the host sees it, until it is closed.
 * Errors as `runRemote`.
 */
export async function openTunnel(
  address: SshAddress,
  target: { readonly address: string; readonly port: number },
  signal: AbortSignal,
): Promise<{ readonly port: number; close: NodeConnection["close"] }> {
  const port = await freePort();
  const forward = `127.0.0.1:${port}:${target.address.includes(":") ? `[${target.address}]` : target.address}:${target.port}`;
  const options = [...SSH_OPTIONS, ...NOT_SHARED, "-o", "ExitOnForwardFailure=yes", "-N", "-T", "-L", forward];
  const child = execa("ssh", [...options, ...sshDestination(address)], {
    reject: false,
    stdin: "ignore",
    env: { LC_ALL: "C" },
    forceKillAfterDelay: KILL_AFTER_MS,
  });
  const close = async (): Promise<void> => {
    child.kill();
    await child;
  };
  const ended = child.then((result) => {
    if (result.code === "ENOENT") throw sshMissing();
    throw sshFailure(address, result.stderr);
  });
  try {
    await Promise.race([answers(port, AbortSignal.any([signal, AbortSignal.timeout(TUNNEL_MS)])), ended]);
    // ssh takes the port when it has a connection, and until then any process could take it: its arguments are public.
    if (await isForeignListener(`http://127.0.0.1:${port}`)) throw portTaken(port);
  } catch (error) {
    await close();
    signal.throwIfAborted();
    if (error instanceof InfraError) throw error;
    throw sshFailure(address, "Connection timed out");
  }
  // The tunnel may end later, too: then connections to the port are refused.
  ended.catch(() => undefined);
  return { port, close };
}

/** What the words of an ssh without a connection mean. The one place that reads them. */
function sshFailure(address: SshAddress, words: string): InfraError {
  const target = `${address.user === null ? "" : `${address.user}@`}${address.host}`;
  const byHand = `ssh ${address.port === null ? "" : `-p ${address.port} `}`;
  const line = lastLine(words);
  if (/REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed/i.test(words)) {
    return new InfraError("INFRA_HOST_KEY_MISMATCH", `${address.host} shows another SSH host key than before.`, {
      hint: `If the machine was set up anew, compare its key, then run \`ssh-keygen -R ${knownName(address)}\` and connect once by hand. If it was not, the connection may be intercepted: do not connect.`,
    });
  }
  if (/host key verification failed|No .* host key is known for/i.test(words)) {
    return new InfraError("INFRA_HOST_KEY_MISMATCH", `The SSH host key of ${address.host} is not known here.`, {
      hint: `Connect once by hand (\`${byHand}${target}\`), compare the fingerprint, and accept it.`,
    });
  }
  const hint = /permission denied|too many authentication failures/i.test(words)
    ? `Nothing is asked for here: see that \`${byHand}-o BatchMode=yes ${target} true\` works, with a key of an agent or one without a passphrase.`
    : `See that \`${byHand}${target}\` works.`;
  return new InfraError("INFRA_HOST_UNREACHABLE", `${address.host} cannot be reached over SSH: ${line}`, { hint });
}

function portTaken(port: number): InfraError {
  return new InfraError("INFRA_FAILED", `Another user's process has taken port ${port}, which ssh was to forward.`, {
    hint: "Repeat the command. If that happens again, see who it is: `ss -ltnp`.",
  });
}

function sshMissing(): InfraError {
  return new InfraError("INFRA_TOOL_MISSING", "The command ssh was not found.", {
    hint: "Install OpenSSH's client: hosts with an ssh:// address are reached by it.",
  });
}

function knownName({ host, port }: SshAddress): string {
  return port === null ? host : `[${host}]:${port}`;
}

function lastLine(words: string): string {
  return words.trim().split("\n").at(-1)?.trim() || "ssh ended without a word";
}

async function answers(port: number, signal: AbortSignal): Promise<void> {
  while (!(await accepts(port))) await sleep(POLL_MS, undefined, { signal });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
