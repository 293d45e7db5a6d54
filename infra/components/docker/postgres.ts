/** The stack's PostgreSQL: its volume, its files, and its container, which only the stack's network reaches unless asked. */

import { Container, RemoteImage } from "@pulumi/docker";
import { ComponentResource, type Output, type Resource } from "@pulumi/pulumi";
import { databaseData, stackNames } from "../../plan/names.ts";
import { type DockerPlan, POSTGRES, type PostgresPlan, type PostgresSecrets } from "../../plan/types.ts";
import {
  POSTGRES_SECRET_FILES,
  postgresCommand,
  postgresEnvironment,
  postgresFiles,
  postgresProbe,
  postgresSecretFiles,
} from "../../postgres/configuration.ts";
import {
  environmentArgs,
  hardeningArgs,
  lifetimeArgs,
  limitArgs,
  limitLabels,
  logArgs,
  NEVER_UPDATED,
} from "./container.ts";
import { filesFor } from "./files.ts";
import type { DockerHost } from "./host.ts";
import { ownLabels, serviceLabels } from "./labels.ts";
import { limitPids } from "./pids.ts";
import { dataVolume } from "./volume.ts";

/** Seconds. A checkpoint of much data takes its time, and a kill instead means recovery at the next start. */
const STOP_TIMEOUT_S = 120;
/** MiB of /dev/shm: parallel queries and the building of vector indexes work there. */
const SHARED_MEMORY_MIB = 256;
/** Connections are processes: never less than this, whatever the nodes get. */
const LEAST_PIDS = 512;

export interface PostgresInput {
  readonly plan: DockerPlan;
  readonly postgres: PostgresPlan;
  readonly host: DockerHost;
  readonly secrets: Output<PostgresSecrets>;
  readonly adopt: ReadonlySet<string>;
  readonly parent: Resource | undefined;
}

/** URN type `cairn:docker:Postgres`. */
export class DockerPostgres extends ComponentResource {
  readonly container: Container;
  /** The volume's own name. */
  readonly volume: string;

  constructor(input: PostgresInput) {
    const { plan, postgres, host } = input;
    const names = stackNames(plan.stack);
    const name = names.postgres;
    super("cairn:docker:Postgres", name, {}, input.parent ? { parent: input.parent } : {});
    this.volume = databaseData(plan);
    const volume = dataVolume({ plan, host, name: this.volume, role: "postgres", adopt: input.adopt, parent: this });
    // Resolved to its id once: what the tag means later does not change a database that runs.
    const image = new RemoteImage(
      `${name}-image`,
      { name: postgres.image, keepLocally: true },
      { provider: host.provider, parent: this },
    );
    const files = filesFor({
      plan,
      host,
      container: name,
      role: "postgres",
      image: image.imageId,
      directory: POSTGRES.configuration,
      files: [
        ...postgresFiles().map(({ name: file, content }) => ({ path: `${POSTGRES.configuration}/${file}`, content })),
        ...POSTGRES_SECRET_FILES.map((file) => ({
          path: `${POSTGRES.configuration}/${file}`,
          content: input.secrets.apply((secrets) => postgresSecretFiles(secrets)[file]),
        })),
      ],
      parent: this,
    });
    const owner = `uid=${POSTGRES.uid},gid=${POSTGRES.gid}`;
    this.container = new Container(
      name,
      {
        name,
        image: image.imageId,
        hostname: "postgres",
        user: `${POSTGRES.uid}:${POSTGRES.gid}`,
        // Its files are root's, for root's group to read.
        groupAdds: ["0"],
        entrypoints: [...postgresCommand()],
        init: false,
        ...environmentArgs(postgresEnvironment()),
        labels: [...ownLabels(plan, "postgres"), ...serviceLabels(plan, "postgres"), ...limitLabels(postgres.limits)],
        ...hardeningArgs(),
        ...logArgs(plan),
        ...limitArgs(postgres.limits),
        ...lifetimeArgs(STOP_TIMEOUT_S),
        networksAdvanced: [{ name: host.network.name, aliases: ["postgres"] }],
        ports: postgres.publish
          ? [{ internal: POSTGRES.port, external: postgres.publish.port, ip: postgres.publish.address }]
          : [],
        volumes: [{ volumeName: volume.name, containerPath: POSTGRES.data }, { fromContainer: files.from }],
        tmpfs: {
          "/tmp": "rw,nosuid,nodev,noexec,mode=1777,size=268435456",
          "/var/run/postgresql": `rw,nosuid,nodev,noexec,mode=0775,${owner},size=1048576`,
        },
        shmSize: SHARED_MEMORY_MIB,
        healthcheck: {
          tests: ["CMD", ...postgresProbe()],
          interval: "10s",
          timeout: "5s",
          retries: 5,
          startPeriod: "10m0s",
          startInterval: "1s",
        },
      },
      {
        provider: host.provider,
        parent: this,
        deleteBeforeReplace: true,
        replaceOnChanges: [...NEVER_UPDATED],
      },
    );
    limitPids(name, host, this.container, Math.max(plan.pids, LEAST_PIDS), this);
    this.registerOutputs({});
  }
}
