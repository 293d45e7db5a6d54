/** What exists on a Docker host, from its command line: one function for each of its answers. */

import { z } from "zod";
import { type Label, STACK_LABEL } from "../../../../../infra/components/docker/labels.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ContainerEnd } from "../../../end-words.ts";
import { askDocker, type DockerEngine, dockerFailure, tryDocker } from "../../../images/docker-cli.ts";
import { containerShape, type FoundContainer, labels, stackOf, timeOf, toContainer } from "./found-container.ts";

/** Milliseconds: longer than any container here is given to end, and than the files of a large volume take to go. */
const STOP_MS = 10 * 60_000;

const volumeShape = z.object({ Name: z.string(), Labels: labels, CreatedAt: z.string().nullish() });
const networkShape = z.object({ Id: z.string(), Name: z.string(), Labels: labels, Created: z.string().nullish() });
const versionShape = z.object({ Server: z.object({ ApiVersion: z.string(), Os: z.string() }) });

export interface FoundThing {
  /** Its id for the Docker provider. */
  readonly id: string;
  readonly name: string;
  readonly stack: string | null;
  /** Since when it is there. */
  readonly since: string | null;
}

/** Those of the names that exist. */
export async function findContainers(
  names: readonly string[],
  host: DockerEngine,
  signal: AbortSignal,
): Promise<FoundContainer[]> {
  const found = await inspect("container", names, containerShape, host, signal);
  return found.map(toContainer);
}

/** Milliseconds: the longest that Docker waits before it starts a container again is a minute. */
const BEFORE_START_MS = 120_000;

/**
 * How a container that runs ended before Docker started it again, from Docker's own record of events; null where it has none. Times
 * are the engine's own.
 */
export async function formerEnd(
  { id, since }: Pick<FoundContainer, "id" | "since">,
  host: DockerEngine,
  signal: AbortSignal,
): Promise<ContainerEnd | null> {
  if (since === null) return null;
  const from = new Date(Date.parse(since) - BEFORE_START_MS).toISOString();
  const format = '{{.Action}} {{index .Actor.Attributes "exitCode"}}';
  const filters = [`--filter=container=${id}`, "--filter=event=oom", "--filter=event=die"];
  const args = ["events", "--since", from, "--until", since, ...filters, "--format", format];
  // A proxy of Docker's socket may refuse them: then nothing is known.
  const { ok, stdout } = await tryDocker(args, { host, signal });
  if (!ok) return null;
  const events = stdout.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim().split(" ")]));
  const last = events.findLastIndex(([action]) => action === "die");
  if (last < 0) return null;
  const exitCode = Number(events[last]?.[1]);
  const outOfMemory = events[last - 1]?.[0] === "oom";
  return { exitCode: Number.isInteger(exitCode) ? exitCode : null, outOfMemory };
}

/** Every container that publishes a port, running or not. */
export async function publishingContainers(host: DockerEngine, signal: AbortSignal): Promise<FoundContainer[]> {
  const ids = (await askDocker(["container", "ls", "--all", "--quiet", "--no-trunc"], { host, signal })).split("\n");
  const containers = await findContainers(
    ids.map((id) => id.trim()).filter((id) => id !== ""),
    host,
    signal,
  );
  return containers.filter((container) => container.ports.length > 0);
}

export async function findVolumes(
  names: readonly string[],
  host: DockerEngine,
  signal: AbortSignal,
): Promise<FoundThing[]> {
  const found = await inspect("volume", names, volumeShape, host, signal);
  return found.map((volume) => ({
    id: volume.Name,
    name: volume.Name,
    stack: stackOf(volume.Labels),
    since: timeOf(volume.CreatedAt),
  }));
}

/** Names of the containers that run on each volume; one that is stopped does its data no harm. */
export async function volumeUsers(host: DockerEngine, signal: AbortSignal): Promise<ReadonlyMap<string, string[]>> {
  const format = "{{.Names}}\t{{.Mounts}}";
  const text = await askDocker(["container", "ls", "--no-trunc", "--format", format], { host, signal });
  const users = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [name = "", mounts = ""] = line.trim().split("\t");
    for (const volume of mounts.split(",")) users.set(volume, [...(users.get(volume) ?? []), name]);
  }
  return users;
}

export async function findNetworks(
  names: readonly string[],
  host: DockerEngine,
  signal: AbortSignal,
): Promise<FoundThing[]> {
  const found = await inspect("network", names, networkShape, host, signal);
  return found.map((network) => ({
    id: network.Id,
    name: network.Name,
    stack: stackOf(network.Labels),
    since: timeOf(network.Created),
  }));
}

/** `api`: `1.45`. `os`: `linux`, `windows`. */
export async function engineVersion(
  host: DockerEngine,
  signal: AbortSignal,
): Promise<{ readonly api: string; readonly os: string }> {
  const { Server } = parse(versionShape, await askDocker(["version", "--format", "{{json .}}"], { host, signal }));
  return { api: Server.ApiVersion, os: Server.Os };
}

/** Where the engine keeps everything, as the host sees it. */
export async function engineRoot(host: DockerEngine, signal: AbortSignal): Promise<string> {
  return (await askDocker(["info", "--format", "{{.DockerRootDir}}"], { host, signal })).trim();
}

/** Memory of the engine's machine, in bytes. */
export async function engineMemory(host: DockerEngine, signal: AbortSignal): Promise<number> {
  return Number((await askDocker(["info", "--format", "{{.MemTotal}}"], { host, signal })).trim());
}

/** By the engine's own clock, in ISO 8601 with its offset. INFRA_FAILED where it says none. */
export async function engineTime(host: DockerEngine, signal: AbortSignal): Promise<string> {
  const time = (await askDocker(["info", "--format", "{{.SystemTime}}"], { host, signal })).trim();
  if (!Number.isNaN(Date.parse(time))) return time;
  throw new InfraError("INFRA_FAILED", `Docker's answer about its time is not understood: ${time || "it is empty"}.`);
}

/** Endpoint that the command line uses for this machine: `unix:///var/run/docker.sock`. */
export async function currentEndpoint(signal: AbortSignal): Promise<string> {
  const format = "{{.Endpoints.docker.Host}}";
  return (await askDocker(["context", "inspect", "--format", format], { signal })).trim();
}

/** Stops it first, as its own settings say. Its anonymous volumes go with it; those with a name stay. */
export async function removeContainer(id: string, host: DockerEngine, signal: AbortSignal): Promise<void> {
  for (const command of [
    ["container", "stop", "--", id],
    ["container", "rm", "--force", "--volumes", "--", id],
  ]) {
    const { ok, stderr } = await tryDocker(command, { host, signal }, STOP_MS);
    if (!ok && !/no such container/i.test(stderr)) throw dockerFailure(stderr, `docker container ${command[1]}`, host);
  }
}

/** Everything that carries the stack's label, in the order of its names. */
export async function labelled(
  kind: "container" | "network",
  stack: string,
  host: DockerEngine,
  signal: AbortSignal,
): Promise<FoundThing[]> {
  const all = kind === "container" ? ["--all", "--no-trunc"] : ["--no-trunc"];
  const format = kind === "container" ? "{{.ID}}\t{{.Names}}" : "{{.ID}}\t{{.Name}}";
  const args = [kind, "ls", ...all, `--filter=label=${STACK_LABEL}=${stack}`, "--format", format];
  const lines = (await askDocker(args, { host, signal })).split("\n").filter((line) => line.trim() !== "");
  return lines
    .map((line) => {
      const [id = "", name = ""] = line.trim().split("\t");
      return { id, name, stack, since: null };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Names of the volumes that carry all of these labels. */
export async function labelledVolumes(
  wanted: readonly Label[],
  host: DockerEngine,
  signal: AbortSignal,
): Promise<string[]> {
  const filters = wanted.map(({ label, value }) => `--filter=label=${label}=${value}`);
  const text = await askDocker(["volume", "ls", "--quiet", ...filters], { host, signal });
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .sort();
}

/** Nothing of it is lost: a network has no data. */
export async function removeNetwork(id: string, host: DockerEngine, signal: AbortSignal): Promise<void> {
  const { ok, stderr } = await tryDocker(["network", "rm", id], { host, signal });
  if (!ok && !/not found|no such network/i.test(stderr)) throw dockerFailure(stderr, "docker network rm", host);
}

/** Whether it was removed; false when it was not there. INFRA_DATA_PROTECTED while a container uses it. */
export async function removeVolume(name: string, host: DockerEngine, signal: AbortSignal): Promise<boolean> {
  const { ok, stderr } = await tryDocker(["volume", "rm", "--", name], { host, signal }, STOP_MS);
  if (ok) return true;
  if (/no such volume/i.test(stderr)) return false;
  if (/volume is in use/i.test(stderr)) {
    throw new InfraError("INFRA_DATA_PROTECTED", `The volume ${name} is in use by a container and was not removed.`, {
      hint: `\`docker ps --all --filter volume=${name}\` shows it.`,
    });
  }
  throw dockerFailure(stderr, `docker volume rm ${name}`, host);
}

/** `docker <kind> inspect` prints what it found, and fails when a name was not there. */
async function inspect<Shape extends z.ZodType>(
  kind: "container" | "volume" | "network",
  names: readonly string[],
  shape: Shape,
  host: DockerEngine,
  signal: AbortSignal,
): Promise<z.infer<Shape>[]> {
  if (names.length === 0) return [];
  const { ok, stdout, stderr } = await tryDocker([kind, "inspect", "--", ...names], { host, signal });
  const unexpected = stderr.split("\n").filter((line) => line.trim() !== "" && !/no such|not found/i.test(line));
  if (!ok && unexpected.length > 0) throw dockerFailure(stderr, `docker ${kind} inspect`, host);
  return parse(z.array(shape), stdout.trim() === "" ? "[]" : stdout);
}

function parse<Shape extends z.ZodType>(shape: Shape, text: string): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new InfraError("INFRA_FAILED", "Docker's answer is not understood.", {
      cause,
      hint: "See that `docker version` shows a client and a server of Docker 25 or newer.",
    });
  }
}
