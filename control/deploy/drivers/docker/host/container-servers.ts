/**
 * The stack's PostgreSQL and one of another major beside it, as containers of one Docker: by its command line and the programs in
 * their images. Where their data lie is the target's own.
 */

import { setTimeout } from "node:timers/promises";
import { postgresProbe } from "../../../../../infra/postgres/configuration.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../../driver.ts";
import {
  askDocker,
  type DockerEngine,
  type DockerOutcome,
  diskFull,
  dockerCommand,
  dockerFailure,
  isDiskFull,
  tryDocker,
} from "../../../images/docker-cli.ts";
import { hasImage } from "../../../images/transport.ts";
import { closeDatabase, openDatabase } from "../../../postgres/closed-database.ts";
import { contentsOf, copyDatabase, majorsScript, readMajors, roomOf, type Server } from "../../../postgres/programs.ts";
import { engineTime, findContainers, removeContainer } from "./inventory.ts";
import { ONE_OFF } from "./one-off.ts";
import { whileReachable } from "./reachable.ts";
import { secondServer } from "./second-server.ts";

/** Milliseconds: until a server answers that recovers or makes a cluster; until one has stopped; of one container that goes at once. */
const START_MS = 300_000;
const STOP_MS = 10 * 60_000;
const ONE_OFF_MS = 120_000;
/** Milliseconds: how far back a server's words explain what has just failed. */
const LATELY_MS = 60_000;
const POLL_MS = 500;

export interface ServersPlace {
  readonly host: DockerEngine;
  /** Container of the stack's own server. */
  readonly own: string;
  readonly port: number;
  /** `name=value`, of the second container. */
  readonly labels: readonly string[];
  /** Makes room for data of this name, of the user who is to own them. */
  makeData(data: string, image: string, user: string, signal: AbortSignal): Promise<void>;
  /** Flags that give the second server these data, and the files of the first one. */
  mounts(data: string): readonly string[];
}

/** What is the same wherever both are containers. */
export interface ContainerServers
  extends Pick<DatabaseServers, "room" | "startSecond" | "closeToNodes" | "copy" | "contents" | "stop" | "start"> {
  /** `mounts`: flags that put the stack's data at /data. Null where the image is not there. */
  majors(
    image: string,
    mounts: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly server: number; readonly data: number | null } | null>;
  /** Its data stay. */
  endSecond(signal: AbortSignal): Promise<void>;
  /** Does one thing as root in a container that goes. */
  oneOff(image: string, mounts: readonly string[], argv: readonly string[], signal: AbortSignal): Promise<string>;
}

export function containerServers(place: ServersPlace): ContainerServers {
  const { host, port } = place;
  const own = serverIn(host, place.own, port);
  const second = serverIn(host, `${place.own}-upgrade`, port);
  const isThere = async ({ name }: Server, signal: AbortSignal): Promise<boolean> =>
    (await findContainers([name], host, signal)).length > 0;

  const servers: ContainerServers = {
    async majors(image, mounts, signal) {
      if (!(await hasImage(image, host, signal))) return null;
      const text = await servers.oneOff(image, mounts, ["/bin/sh", "-c", majorsScript("/data")], signal);
      return readMajors(text, image);
    },

    oneOff(image, mounts, [entrypoint = "", ...rest], signal) {
      const args = [...ONE_OFF, ...mounts, "--entrypoint", entrypoint, image, ...rest];
      return askDocker(args, { host, signal }, ONE_OFF_MS);
    },

    room: (signal) => whileReachable(host, signal, (ending) => roomOf(own, ending)),

    async startSecond(image, data, signal) {
      const text = await askDocker(["container", "inspect", "--", own.name], { host, signal });
      const { name } = second;
      const { create, user } = secondServer(text, { name, image, mounts: place.mounts(data), labels: place.labels });
      await place.makeData(data, image, user, signal);
      await askDocker(create, { host, signal });
      await askDocker(["container", "start", name], { host, signal });
      await untilAnswering(second.name, place, signal);
    },

    closeToNodes: (signal) => whileReachable(host, signal, (ending) => closeDatabase(own, ending)),

    async copy(from, signal) {
      try {
        await whileReachable(host, signal, (ending) => copyDatabase(own, second, from, ending));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") throw error;
        throw (await saidOfFullDisk([second.name, own.name], host, signal)) ?? error;
      }
    },
    contents: (server, signal) =>
      whileReachable(host, signal, (ending) => contentsOf(server === "own" ? own : second, ending)),

    async stop(signal) {
      if (!(await isThere(own, signal))) return;
      must(await tryDocker(["container", "stop", "--", own.name], { host, signal }, STOP_MS));
    },

    async start(signal) {
      if (!(await isThere(own, signal))) return;
      await askDocker(["container", "start", own.name], { host, signal });
      await untilAnswering(own.name, place, signal);
      await openDatabase(own, signal);
    },

    async endSecond(signal) {
      if (await isThere(second, signal)) await removeContainer(second.name, host, signal);
    },
  };
  return servers;

  function must({ ok, stderr }: DockerOutcome): void {
    if (!ok) throw dockerFailure(stderr, "docker container stop", host);
  }
}

/** A PostgreSQL in a container of this Docker. */
export function serverIn(host: DockerEngine, container: string, port: number): Server {
  return {
    name: container,
    port,
    command: (argv, { input }) => dockerCommand(["exec", ...(input ? ["-i"] : []), container, ...argv], host),
    failure: (words, what) => dockerFailure(words, what, host),
  };
}

/** INFRA_DISK_FULL where one of the servers has just said so: to its clients it only closes the connection. */
async function saidOfFullDisk(
  containers: readonly string[],
  host: DockerEngine,
  signal: AbortSignal,
): Promise<InfraError | null> {
  // Docker's command line would reckon with the clock of this machine.
  const since = new Date(Date.parse(await engineTime(host, signal)) - LATELY_MS).toISOString();
  for (const name of containers) {
    const { stdout, stderr } = await tryDocker(["container", "logs", "--since", since, name], { host, signal });
    const line = `${stdout}\n${stderr}`.split("\n").findLast(isDiskFull);
    if (line !== undefined) return diskFull(line, host);
  }
  return null;
}

/** INFRA_FAILED with the last words of a server that ended, or that does not answer in time. */
async function untilAnswering(
  container: string,
  { host, port }: Pick<ServersPlace, "host" | "port">,
  signal: AbortSignal,
): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; ) {
    const { ok, stdout, stderr } = await tryDocker(["exec", container, ...postgresProbe(port)], { host, signal });
    if (ok) return;
    // Where the disk has no room for it, Docker cannot even ask; it says so where the probe's own words would be.
    if (isDiskFull(stdout + stderr)) throw dockerFailure(stdout + stderr, "docker exec", host);
    const [found] = await findContainers([container], host, signal);
    if (found?.status !== "running") break;
    await setTimeout(POLL_MS, undefined, { signal });
  }
  const full = await saidOfFullDisk([container], host, signal);
  if (full !== null) throw full;
  const { stderr } = await tryDocker(["container", "logs", "--tail", "5", container], { host, signal });
  throw new InfraError(
    "INFRA_FAILED",
    `PostgreSQL does not answer in ${container}: ${stderr.trim() || "it said nothing"}`,
  );
}
