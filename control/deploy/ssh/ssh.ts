/**
 * Commands on another machine by the system's `ssh`. The host's key is pinned: a file with that one key is all that `ssh` may
 * compare with, and it never prompts.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { execa, type Options } from "execa";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { parseSshFailure } from "./failure.ts";

export interface SshHost {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** `ssh-ed25519 AAAA...`, without a host name. */
  readonly hostKey: string;
  /** Null: the keys of the agent at SSH_AUTH_SOCK. */
  readonly identityFile: string | null;
  /** Where cairn.yaml has these, for hints; `deployment.proxmox` when absent. */
  readonly settings?: string;
}

export interface SshRun {
  /** What the other side's shell gets: one line, made by `commandLine` or `remoteLine`. */
  readonly line: string;
  /** Text, or a stream of any length. */
  readonly input?: string | Readable;
  /** Milliseconds until the command is given up; default one minute. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface SshResult {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Ssh {
  /** Throws what `parseSshFailure` makes of a failure, INFRA_TOOL_MISSING without `ssh`, and the signal's reason. */
  run(run: SshRun): Promise<SshResult>;
  /** A child whose standard input and output are the command's; the caller ends it. */
  open(line: string): SshChild;
  /** The program with all its arguments, to be run by the caller before `close`; `terminal`: the other side is to make one. */
  command(line: string, terminal: boolean): { readonly program: string; readonly args: readonly string[] };
  /** Ends what still runs and removes the file with the host's key. */
  close(): Promise<void>;
}

export interface SshChild {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Settles when the child has ended, with the reason if it failed. */
  readonly ended: Promise<InfraError | null>;
  kill(): void;
}

const CONNECT_TIMEOUT_S = 15;
const DEFAULT_TIMEOUT_MS = 60_000;
const KILL_AFTER_MS = 2_000;
/** Of what a command prints: answers are short, and a host that is not what it seems must not fill the memory. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;

/** Call `close` in the end. `program`: another `ssh`, for tests. */
export async function openSsh(host: SshHost, program = "ssh"): Promise<Ssh> {
  const folder = await mkdtemp(join(tmpdir(), "cairn-ssh-"));
  const knownHosts = join(folder, "known_hosts");
  await writeFile(knownHosts, knownHostsLine(host), { mode: 0o600 });
  const args = sshArguments(host, knownHosts);
  const children = new Set<{ kill(): void; readonly ended: Promise<unknown> }>();
  /** `ssh` that is ended while its command runs exits with 255, as if the connection had been lost. */
  const ended = new WeakSet<object>();

  const spawn = <Chosen extends Options>(line: string, options: Chosen) => {
    const child = execa(program, [...args, line], { reject: false, forceKillAfterDelay: KILL_AFTER_MS, ...options });
    const entry = { kill: () => end(child), ended: Promise.allSettled([child]) };
    children.add(entry);
    void entry.ended.then(() => children.delete(entry));
    return child;
  };

  const end = (child: { kill(): boolean }): void => {
    ended.add(child);
    child.kill();
  };

  const failure = (result: Ended): InfraError => {
    if (result.code === "ENOENT") return sshMissing();
    const outcome = { exitCode: result.exitCode ?? null, stderr: String(result.stderr ?? "") };
    return parseSshFailure(host.host, outcome, host.settings);
  };

  return {
    async run({ line, input, timeoutMs = DEFAULT_TIMEOUT_MS, signal }) {
      signal.throwIfAborted();
      const source = input === undefined ? { stdin: "ignore" as const } : { input };
      const result = await spawn(line, {
        ...source,
        timeout: timeoutMs,
        cancelSignal: signal,
        maxBuffer: MAX_OUTPUT_BYTES,
        encoding: "utf8",
      });
      if (signal.aborted) throw signal.reason;
      if (result.timedOut) throw tooLate(host.host, timeoutMs);
      // Also where the input could not be read, or the command was content with half of it.
      if (result.failed) throw failure(result);
      return { stdout: String(result.stdout ?? ""), stderr: String(result.stderr ?? "") };
    },
    open(line) {
      const child = spawn(line, {
        stdin: "pipe",
        stdout: "pipe",
        buffer: { stdout: false },
        maxBuffer: MAX_OUTPUT_BYTES,
      });
      return {
        stdin: child.stdin,
        stdout: child.stdout,
        ended: Promise.resolve(child).then((result) =>
          result.failed && !result.isTerminated && !ended.has(child) ? failure(result) : null,
        ),
        kill: () => end(child),
      };
    },
    command: (line, terminal) => ({ program, args: [...(terminal ? args.with(0, "-tt") : args), line] }),
    async close() {
      for (const child of children) child.kill();
      await Promise.all([...children].map((child) => child.ended));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Ended {
  readonly code?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly stderr?: unknown;
}

/** Everything that `ssh` gets before the command. Nothing of the user's own known_hosts or questions has a say. */
function sshArguments(host: SshHost, knownHosts: string): string[] {
  const options = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    `UserKnownHostsFile=${knownHosts}`,
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
    // A configured host of the same name must not lead elsewhere; jump hosts of it would still be used.
    `HostKeyAlias=${ALIAS}`,
    `HostKeyAlgorithms=${keyAlgorithms(host.hostKey)}`,
    `ConnectTimeout=${CONNECT_TIMEOUT_S}`,
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "LogLevel=INFO",
    ...(host.identityFile === null ? [] : ["IdentitiesOnly=yes"]),
  ];
  return [
    "-T",
    ...options.flatMap((option) => ["-o", option]),
    ...(host.identityFile === null ? [] : ["-i", host.identityFile]),
    "-p",
    String(host.port),
    "-l",
    host.user,
    "--",
    host.host,
  ];
}

/** Name of the one entry in the file of known hosts. */
const ALIAS = "cairn-pinned-host";

function knownHostsLine(host: SshHost): string {
  return `${ALIAS} ${host.hostKey}\n`;
}

/** Signature algorithms of the pinned key's kind: the host is not to offer another one, which could not match. */
function keyAlgorithms(hostKey: string): string {
  const kind = hostKey.split(" ")[0] ?? "";
  return kind === "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : kind;
}

function tooLate(host: string, timeoutMs: number): InfraError {
  return new InfraError("INFRA_HOST_UNREACHABLE", `A command on ${host} gave no answer within ${timeoutMs / 1000} s.`, {
    hint: "Look at the host's load, then repeat the command: what was done already is kept.",
  });
}

function sshMissing(): InfraError {
  return new InfraError("INFRA_TOOL_MISSING", "The command `ssh` is not installed on this machine.", {
    hint: "Install OpenSSH's client (Debian: openssh-client).",
  });
}
