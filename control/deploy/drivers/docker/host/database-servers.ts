/** The stack's PostgreSQL and one of another major beside it, on a Docker host: their data are volumes. */

import { ownLabels } from "../../../../../infra/components/docker/labels.ts";
import { filesContainer } from "../../../../../infra/components/docker/names.ts";
import { databaseData, stackNames } from "../../../../../infra/plan/names.ts";
import { type DockerPlan, POSTGRES, type SecretValues } from "../../../../../infra/plan/types.ts";
import type { DatabaseServers } from "../../../driver.ts";
import { parseUrn } from "../../../engine/urn.ts";
import { askDocker, dockerArguments } from "../../../images/docker-cli.ts";
import { deliverImage } from "../images.ts";
import { containerServers } from "./container-servers.ts";
import { findVolumes, removeVolume } from "./inventory.ts";

const IMAGE = "docker:index/remoteImage:RemoteImage";

export function databaseServers(plan: DockerPlan, registry: SecretValues["registry"]): DatabaseServers {
  const { host } = plan;
  const own = stackNames(plan.stack).postgres;
  const labels = ownLabels(plan, "postgres").map(({ label, value }) => `${label}=${value}`);
  const withVolume = async (name: string, signal: AbortSignal): Promise<boolean> =>
    (await findVolumes([name], host, signal)).length > 0;
  const servers = containerServers({
    host,
    own,
    port: POSTGRES.port,
    labels,
    async makeData(volume, image, user, signal) {
      await askDocker(["volume", "create", ...labels.flatMap((one) => ["--label", one]), volume], { host, signal });
      await servers.oneOff(image, ["--volume", `${volume}:/data`], ["chown", user, "/data"], signal);
    },
    mounts: (volume) => [
      ...["--volumes-from", `${filesContainer(own)}:ro`],
      // Images differ in whether they have the directory, and whose it is: nothing of theirs is taken over.
      ...["--mount", `type=volume,source=${volume},target=${POSTGRES.data},volume-nocopy`],
    ],
  });

  return {
    ...servers,

    setting: (volume) => ({ path: ["deployment", "docker", "database_volume"], value: volume }),

    async image(recorded) {
      const found = recorded.find(({ type, urn }) => type === IMAGE && parseUrn(urn).name === `${own}-image`);
      const image = found?.inputs["name"];
      return typeof image === "string" ? image : null;
    },

    bring: (image, report, signal) => deliverImage(registry, { image, place: host, report, signal }),

    async majors(image, signal) {
      const volume = databaseData(plan);
      const mounts = (await withVolume(volume, signal)) ? ["--volume", `${volume}:/data:ro`] : [];
      return servers.majors(image, mounts, signal);
    },

    exists: withVolume,

    handOver: (_volume, signal) => servers.endSecond(signal),

    async removeSecond(volume, signal) {
      await servers.endSecond(signal);
      await removeVolume(volume, host, signal);
    },

    removal: (volume) => ["docker", ...dockerArguments(["volume", "rm", volume], host)].join(" "),
  };
}
