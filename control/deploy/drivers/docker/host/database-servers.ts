/** The stack's PostgreSQL and one of another major beside it, on a Docker host: by Docker's command line and the programs in their images. */

import { setTimeout } from "node:timers/promises";
import { execa } from "execa";
import { ownLabels } from "../../../../../infra/components/docker/labels.ts";
import { filesContainer } from "../../../../../infra/components/docker/names.ts";
import { databaseData, stackNames } from "../../../../../infra/plan/names.ts";
import { type DockerPlan, POSTGRES, type SecretValues } from "../../../../../infra/plan/types.ts";
import { postgresProbe } from "../../../../../infra/postgres/configuration.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../../driver.ts";
import { parseUrn } from "../../../engine/urn.ts";
import {
  askDocker,
  type DockerHost,
  type DockerOutcome,
  dockerArguments,
  dockerFailure,
  tryDocker,
} from "../../../images/docker-cli.ts";
import { hasImage } from "../../../images/transport.ts";
import { deliverImage } from "../images.ts";
import { closeDatabase, openDatabase } from "./closed-database.ts";
import { CONTENTS } from "./database-contents.ts";
import { findContainers, findVolumes, removeContainer, removeVolume } from "./inventory.ts";
import { secondServer } from "./second-server.ts";

/** Milliseconds: until a server answers that recovers or makes a cluster; until one has stopped. */
const START_MS = 300_000;
const STOP_MS = 10 * 60_000;
const POLL_MS = 500;

const IMAGE = "docker:index/remoteImage:RemoteImage";

export function databaseServers(plan: DockerPlan, registry: SecretValues["registry"]): DatabaseServers {
  const { host } = plan;
  const names = stackNames(plan.stack);
  const own = names.postgres;
  const second = `${own}-upgrade`;
  const isThere = async (name: string, signal: AbortSignal): Promise<boolean> =>
    (await findContainers([name], host, signal)).length > 0;
  const withVolume = async (name: string, signal: AbortSignal): Promise<boolean> =>
    (await findVolumes([name], host, signal)).length > 0;

  return {
    setting: (volume) => ({ path: ["deployment", "docker", "database_volume"], value: volume }),

    async image(recorded) {
      const found = recorded.find(({ type, urn }) => type === IMAGE && parseUrn(urn).name === `${own}-image`);
      const image = found?.inputs["name"];
      return typeof image === "string" ? image : null;
    },

    bring: (image, report, signal) => deliverImage(registry, { image, place: host, report, signal }),

    async majors(image, signal) {
      if (!(await hasImage(image, host, signal))) return null;
      const volume = databaseData(plan);
      const mount = (await withVolume(volume, signal)) ? ["--volume", `${volume}:/data:ro`] : [];
      const run = [
        "run",
        "--rm",
        "--network",
        "none",
        "--user",
        "0",
        "--read-only",
        ...mount,
        "--entrypoint",
        "/bin/sh",
      ];
      const script = "postgres --version; cat /data/PG_VERSION 2>&1 || :";
      const text = await askDocker([...run, image, "-c", script], { host, signal });
      const [version = "", data = ""] = text.split("\n");
      const server = /^postgres \(PostgreSQL\) (\d+)/.exec(version)?.[1];
      if (server === undefined) {
        throw new InfraError("INFRA_IMAGE_MISSING", `${image} is no image of PostgreSQL: it says "${version}".`);
      }
      return { server: Number(server), data: /^\d+$/.test(data) ? Number(data) : null };
    },

    exists: withVolume,

    async room(signal) {
      const used = await psql(own, "SELECT sum(pg_database_size(oid)) FROM pg_database;", signal);
      const free = (await askDocker(["exec", own, "df", "-Pk", POSTGRES.data], { host, signal }))
        .split("\n")[1]
        ?.split(/\s+/)[3];
      return { used: Number(used), free: Number(free) * 1024 };
    },

    async startSecond(image, volume, signal) {
      const text = await askDocker(["container", "inspect", "--", own], { host, signal });
      const { create, owner } = secondServer(text, {
        name: second,
        image,
        volume,
        files: filesContainer(own),
        labels: ownLabels(plan, "postgres").map(({ label, value }) => `${label}=${value}`),
      });
      await askDocker(create, { host, signal });
      // Images differ in whether they have the directory, and whose it is.
      await askDocker([...owner], { host, signal });
      await askDocker(["container", "start", second], { host, signal });
      await untilAnswering(second, host, signal);
    },

    closeToNodes: (signal) => closeDatabase(own, host, signal),

    async copy(from, signal) {
      // Both extensions are there already, made by the superuser. The nodes' role owns everything else, and is who restores it: what
      // it has written into its database does not run as the superuser.
      // The long name of `-b` is another one before PostgreSQL 16.
      const only = from >= 17 ? ["--exclude-extension=*"] : ["--extension=plpgsql", "-b"];
      const dump = ["exec", own, "pg_dump", "-U", "postgres", "-d", POSTGRES.database, "-Fc", "-Z0", ...only];
      const address = `host=127.0.0.1 port=${POSTGRES.port} sslmode=require user=${POSTGRES.role} dbname=${POSTGRES.database}`;
      const restore = `PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") exec pg_restore -d '${address}' --no-owner --no-privileges --exit-on-error`;
      const into = ["exec", "-i", second, "/bin/sh", "-c", restore];
      const options = { reject: false, cancelSignal: signal, buffer: { stdout: false } } as const;
      const writing = execa("docker", dockerArguments(dump, host), options);
      const restored = await writing.pipe("docker", dockerArguments(into, host), options);
      const dumped = await writing;
      signal.throwIfAborted();
      // A restore that fails ends the dump, too: its words come first.
      if (restored.failed) throw dockerFailure(restored.stderr, "pg_restore", host);
      if (dumped.failed) throw dockerFailure(dumped.stderr, "pg_dump", host);
      await psql(second, "ANALYZE;", signal);
    },

    async contents(server, signal) {
      const text = await psql(server === "own" ? own : second, CONTENTS, signal);
      return text.split("\n").sort();
    },

    stop: async (signal) => {
      if (await isThere(own, signal))
        must(await tryDocker(["container", "stop", "--", own], { host, signal }, STOP_MS));
    },

    async start(signal) {
      const [container] = await findContainers([own], host, signal);
      if (container === undefined) return;
      await askDocker(["container", "start", own], { host, signal });
      await untilAnswering(own, host, signal);
      await openDatabase(own, host, signal);
    },

    handOver: (_volume, signal) => endSecond(signal),

    async removeSecond(volume, signal) {
      await endSecond(signal);
      await removeVolume(volume, host, signal);
    },

    removal: (volume) => ["docker", ...dockerArguments(["volume", "rm", volume], host)].join(" "),
  };

  async function endSecond(signal: AbortSignal): Promise<void> {
    if (await isThere(second, signal)) await removeContainer(second, host, signal);
  }

  async function psql(container: string, sql: string, signal: AbortSignal): Promise<string> {
    const words = ["exec", "-i", container, "psql", "-XqAt", "-U", "postgres", "-d", POSTGRES.database];
    const args = dockerArguments([...words, "-v", "ON_ERROR_STOP=1"], host);
    const result = await execa("docker", args, { reject: false, input: sql, cancelSignal: signal });
    signal.throwIfAborted();
    if (result.failed) throw dockerFailure(result.stderr, `psql in ${container}`, host);
    return result.stdout;
  }

  function must({ ok, stderr }: DockerOutcome): void {
    if (!ok) throw dockerFailure(stderr, "docker container stop", host);
  }
}

/** INFRA_FAILED with the last words of a server that ended, or that does not answer in time. */
async function untilAnswering(container: string, host: DockerHost, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < START_MS; waited += POLL_MS) {
    const { ok } = await tryDocker(["exec", container, ...postgresProbe()], { host, signal });
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
