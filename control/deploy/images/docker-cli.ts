/**
 * Docker's own command line: the one way that this program talks to an engine outside a Pulumi program. It handles contexts,
 * SSH hosts and credential helpers, so that whatever works in the operator's shell works here.
 */

import process from "node:process";
import { execa } from "execa";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { PartCommand } from "../driver.ts";

/** `local` is what Docker's own environment says (DOCKER_HOST, the current context); else `ssh://...`, `unix://...`. */
export type DockerHost = string;

/** A Docker that no address of the command line here leads to. */
export interface RemoteDocker {
  /** In the middle of a sentence: `in the CT 700 of pve.example.org`. */
  readonly place: string;
  /** A program of this machine that runs `docker` there with these arguments. */
  command(args: readonly string[]): Promise<PartCommand>;
  /** Why the way there failed; null where the words are Docker's own. */
  failure(words: string): InfraError | null;
}

export type DockerEngine = DockerHost | RemoteDocker;

export interface DockerCall {
  readonly host?: DockerEngine;
  readonly signal?: AbortSignal;
  /** On top of the process's own; a credential goes into a file that one of these names, never into the arguments. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface DockerOutcome {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Milliseconds that a cancelled child gets to end by itself. */
export const CANCEL_GRACE_MS = 5_000;

/** Milliseconds after which an engine that does not answer a question counts as unreachable. */
const QUESTION_MS = 30_000;

export function dockerArguments(args: readonly string[], host: DockerHost = "local"): string[] {
  return host === "local" ? [...args] : ["-H", host, ...args];
}

/** `docker` for an engine. Closed after it has ended. */
export async function dockerCommand(args: readonly string[], host: DockerEngine = "local"): Promise<PartCommand> {
  if (typeof host !== "string") return host.command(args);
  return { program: "docker", args: dockerArguments(args, host), close: async () => undefined };
}

/** Standard output of a short question. INFRA_TOOL_MISSING, INFRA_HOST_UNREACHABLE, INFRA_DISK_FULL or INFRA_FAILED. */
export async function askDocker(
  args: readonly string[],
  call: DockerCall = {},
  timeoutMs: number = QUESTION_MS,
): Promise<string> {
  const outcome = await tryDocker(args, call, timeoutMs);
  if (outcome.ok) return outcome.stdout;
  throw dockerFailure(outcome.stderr, `docker ${args.join(" ")}`, call.host);
}

/** As `askDocker`, but an answer of no is an answer: an image that is not there. An engine that is not there still throws. */
export async function tryDocker(
  args: readonly string[],
  { host = "local", signal, environment = {} }: DockerCall = {},
  timeoutMs: number = QUESTION_MS,
): Promise<DockerOutcome> {
  const command = await dockerCommand(args, host);
  const result = await execa(command.program, command.args, {
    reject: false,
    stdin: "ignore",
    env: environment,
    timeout: timeoutMs,
    forceKillAfterDelay: CANCEL_GRACE_MS,
    ...(signal ? { cancelSignal: signal } : {}),
  });
  await command.close();
  signal?.throwIfAborted();
  if (result.code === "ENOENT" && command.program === "docker") throw dockerMissing();
  if (result.timedOut) {
    throw new InfraError("INFRA_HOST_UNREACHABLE", `The Docker engine ${placeOf(host)} did not answer in time.`, {
      hint: hintFor(host),
    });
  }
  const { stdout, stderr } = result;
  if (result.failed && (isUnreachable(stderr) || remoteFailure(stderr, host) !== null)) {
    throw dockerFailure(stderr, "docker", host);
  }
  return { ok: !result.failed, stdout, stderr };
}

export function dockerMissing(): InfraError {
  return new InfraError("INFRA_TOOL_MISSING", "Docker's command line was not found.", {
    hint: "Install Docker (https://docs.docker.com/engine/install) and see that `docker version` works.",
  });
}

/** What the words of a failed `docker` mean. The one place that reads them. */
export function dockerFailure(words: string, what: string, host: DockerEngine = "local"): InfraError {
  const failure = remoteFailure(words, host);
  if (failure !== null) return failure;
  const line = lastLine(words);
  if (isUnreachable(words)) {
    return new InfraError("INFRA_HOST_UNREACHABLE", `The Docker engine ${placeOf(host)} cannot be reached: ${line}`, {
      hint: hintFor(host),
    });
  }
  if (isDiskFull(words)) return diskFull(words.split("\n").find(isDiskFull)?.trim() ?? line, host);
  const failed = host === "local" ? "failed" : `failed ${placeOf(host)}`;
  return new InfraError("INFRA_FAILED", `\`${what}\` ${failed}: ${line || "it said nothing"}`);
}

export function diskFull(line: string, host: DockerEngine = "local"): InfraError {
  return new InfraError("INFRA_DISK_FULL", `The disk ${placeOf(host)} is full: ${line}`, {
    hint: "`docker system df` shows what takes the room; `docker builder prune` and `docker image prune` free some of it.",
  });
}

export function isDiskFull(words: string): boolean {
  return /no space left on device|ENOSPC|disk quota exceeded/i.test(words);
}

export function isUnreachable(words: string): boolean {
  return /cannot connect to the docker daemon|permission denied while trying to connect|error during connect|failed to connect to the docker API|dial unix .*(?:no such file|connection refused|permission denied)|is the docker daemon running/i.test(
    words,
  );
}

export interface Unreachable {
  /** Begins a sentence. */
  readonly who: string;
  /** Null where nothing says it. */
  readonly why: string | null;
  /** A command that shows whether it is there again. */
  readonly see: string;
}

/** Which engine or host a program did not reach, from its words; null where it did. Docker's own words, and those of ssh. */
export function unreachableHost(words: string): Unreachable | null {
  const tunnel = /\[ssh [^\]]*-- (\S+) docker system dial-stdio\] has exited[^\n]*?stderr=([^\n]*)/.exec(words);
  if (tunnel !== null) {
    return { who: `The Docker engine at ${tunnel[1]}`, why: tunnel[2]?.trim() || null, see: "docker version" };
  }
  const ended =
    /Timeout, server (\S+) not responding|Connection to (\S+) port \d+ timed out|Connection closed by (\S+) port \d+/.exec(
      words,
    );
  if (ended !== null) {
    const host = ended[1] ?? ended[2] ?? ended[3] ?? "";
    return { who: `The host ${host}`, why: "its SSH connection has ended", see: `ssh ${host}` };
  }
  if (!isUnreachable(words)) return null;
  const address = /daemon at ((?:unix|tcp|npipe|https?):\/\/[^\s]*?)[.,;]?(?:\s|$)/.exec(words)?.[1];
  return { who: `The Docker engine${address === undefined ? "" : ` at ${address}`}`, why: null, see: "docker version" };
}

/** Where something is, in the middle of a sentence. */
export function placeOf(host: DockerEngine): string {
  if (typeof host !== "string") return host.place;
  return host === "local" ? "of this machine" : `at ${host}`;
}

/** Where something is or is done, after a verb. */
export function placeOn(host: DockerEngine): string {
  return host === "local" ? "on this machine" : placeOf(host);
}

function remoteFailure(words: string, host: DockerEngine): InfraError | null {
  return typeof host === "string" ? null : host.failure(words);
}

function hintFor(host: DockerEngine): string {
  if (typeof host !== "string") return `See that Docker runs ${host.place}: \`docker version\`.`;
  if (host !== "local") return `See that \`docker -H ${host} version\` works.`;
  const set = process.env.DOCKER_HOST;
  return set
    ? `DOCKER_HOST is set to ${set}: see that \`docker version\` works.`
    : "Start it (`systemctl start docker`, or Docker Desktop), and see that your user may use it: `docker version`.";
}

/** Without what Docker says of its own help after a failed `run`. */
function lastLine(words: string): string {
  const lines = words.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !/^(?:See|Run) 'docker .*--help'/.test(line)).at(-1) ?? "";
}
