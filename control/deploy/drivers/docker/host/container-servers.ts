/**
 * The stack's PostgreSQL and one of another major beside it, as containers of one Docker: by its command line and the programs in
 * their images. Where their data lie is the target's own.
 */

import { setTimeout } from "node:timers/promises";
import { execa } from "execa";
import { POSTGRES } from "../../../../../infra/plan/types.ts";
import { postgresProbe } from "../../../../../infra/postgres/configuration.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../../driver.ts";
import {
  askDocker,
  type DockerEngine,
  type DockerOutcome,
  dockerCommand,
  dockerFailure,
  tryDocker,
} from "../../../images/docker-cli.ts";
import { hasImage } from "../../../images/transport.ts";
import { closeDatabase, openDatabase, type Server } from "./closed-database.ts";
import { CONTENTS } from "./database-contents.ts";
import { findContainers, removeContainer } from "./inventory.ts";
import { ONE_OFF } from "./one-off.ts";
import { whileReachable } from "./reachable.ts";
import { secondServer } from "./second-server.ts";

/** Milliseconds: until a server answers that recovers or makes a cluster; until one has stopped; of one container that goes at once. */
const START_MS = 300_000;
const STOP_MS = 10 * 60_000;
const ONE_OFF_MS = 120_000;
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
  const own: Server = { container: place.own, host, port };
  const second: Server = { ...own, container: `${place.own}-upgrade` };
  const as = ["-p", String(port), "-U", "postgres", "-d", POSTGRES.database];
  const isThere = async ({ container }: Server, signal: AbortSignal): Promise<boolean> =>
    (await findContainers([container], host, signal)).length > 0;

  const servers: ContainerServers = {
    async majors(image, mounts, signal) {
      if (!(await hasImage(image, host, signal))) return null;
      const script = "postgres --version; cat /data/PG_VERSION 2>&1 || :";
      const [version = "", data = ""] = (await servers.oneOff(image, mounts, ["/bin/sh", "-c", script], signal)).split(
        "\n",
      );
      const server = /^postgres \(PostgreSQL\) (\d+)/.exec(version)?.[1];
      if (server === undefined) {
        throw new InfraError("INFRA_IMAGE_MISSING", `${image} is no image of PostgreSQL: it says "${version}".`);
      }
      return { server: Number(server), data: /^\d+$/.test(data) ? Number(data) : null };
    },

    oneOff(image, mounts, [entrypoint = "", ...rest], signal) {
      const args = [...ONE_OFF, ...mounts, "--entrypoint", entrypoint, image, ...rest];
      return askDocker(args, { host, signal }, ONE_OFF_MS);
    },

    async room(signal) {
      const used = await psql(own, "SELECT sum(pg_database_size(oid)) FROM pg_database;", signal);
      const free = (await askDocker(["exec", own.container, "df", "-Pk", POSTGRES.data], { host, signal }))
        .split("\n")[1]
        ?.split(/\s+/)[3];
      return { used: Number(used), free: Number(free) * 1024 };
    },

    async startSecond(image, data, signal) {
      const text = await askDocker(["container", "inspect", "--", own.container], { host, signal });
      const { container: name } = second;
      const { create, user } = secondServer(text, { name, image, mounts: place.mounts(data), labels: place.labels });
      await place.makeData(data, image, user, signal);
      await askDocker(create, { host, signal });
      await askDocker(["container", "start", name], { host, signal });
      await untilAnswering(second, signal);
    },

    closeToNodes: (signal) => closeDatabase(own, signal),

    async copy(from, signal) {
      // Both extensions are there already, made by the superuser. The nodes' role owns everything else, and is who restores it: what
      // it has written into its database does not run as the superuser.
      // The long name of `-b` is another one before PostgreSQL 16.
      const only = from >= 17 ? ["--exclude-extension=*"] : ["--extension=plpgsql", "-b"];
      const dump = ["exec", own.container, "pg_dump", ...as, "-Fc", "-Z0", ...only];
      const address = `host=127.0.0.1 port=${port} sslmode=require user=${POSTGRES.role} dbname=${POSTGRES.database}`;
      const restore = `PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") exec pg_restore -d '${address}' --no-owner --no-privileges --exit-on-error`;
      const into = ["exec", "-i", second.container, "/bin/sh", "-c", restore];
      const [reader, writer] = [await dockerCommand(dump, host), await dockerCommand(into, host)];
      const [restored, dumped] = await whileReachable(host, signal, async (ending) => {
        const options = { reject: false, cancelSignal: ending, buffer: { stdout: false } } as const;
        const writing = execa(reader.program, reader.args, options);
        const ends = [await writing.pipe(writer.program, writer.args, options), await writing] as const;
        ending.throwIfAborted();
        return ends;
      }).finally(() => Promise.all([reader.close(), writer.close()]));
      // A restore that fails ends the dump, too: its words come first.
      if (restored.failed) throw dockerFailure(restored.stderr, "pg_restore", host);
      if (dumped.failed) throw dockerFailure(dumped.stderr, "pg_dump", host);
      await psql(second, "ANALYZE;", signal);
    },

    async contents(server, signal) {
      const text = await psql(server === "own" ? own : second, CONTENTS, signal);
      return text.split("\n").sort();
    },

    async stop(signal) {
      if (!(await isThere(own, signal))) return;
      must(await tryDocker(["container", "stop", "--", own.container], { host, signal }, STOP_MS));
    },

    async start(signal) {
      if (!(await isThere(own, signal))) return;
      await askDocker(["container", "start", own.container], { host, signal });
      await untilAnswering(own, signal);
      await openDatabase(own, signal);
    },

    async endSecond(signal) {
      if (await isThere(second, signal)) await removeContainer(second.container, host, signal);
    },
  };
  return servers;

  async function psql({ container }: Server, sql: string, signal: AbortSignal): Promise<string> {
    const words = ["exec", "-i", container, "psql", "-XqAt", ...as, "-v", "ON_ERROR_STOP=1"];
    const command = await dockerCommand(words, host);
    const result = await whileReachable(host, signal, async (ending) => {
      const options = { reject: false, input: sql, cancelSignal: ending } as const;
      const done = await execa(command.program, command.args, options);
      ending.throwIfAborted();
      return done;
    }).finally(() => command.close());
    if (result.failed) throw dockerFailure(result.stderr, `psql in ${container}`, host);
    return result.stdout;
  }

  function must({ ok, stderr }: DockerOutcome): void {
    if (!ok) throw dockerFailure(stderr, "docker container stop", host);
  }
}

/** INFRA_FAILED with the last words of a server that ended, or that does not answer in time. */
async function untilAnswering({ container, host, port }: Server, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < START_MS; waited += POLL_MS) {
    const { ok } = await tryDocker(["exec", container, ...postgresProbe(port)], { host, signal });
    if (ok) return;
    const [found] = await findContainers([container], host, signal);
    if (found?.status !== "running") break;
    await setTimeout(POLL_MS, undefined, { signal });
  }
  const { stderr } = await tryDocker(["container", "logs", "--tail", "5", container], { host, signal });
  throw new InfraError(
    "INFRA_FAILED",
    `PostgreSQL does not answer in ${container}: ${stderr.trim() || "it said nothing"}`,
  );
}
