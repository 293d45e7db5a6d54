/**
 * The stack's PostgreSQL and one of another major beside it, in one CT. The second one writes below the first one's directory, because
 * that is what the CT has mounted: nothing restarts while data are copied. They move beside it when both servers are stopped.
 */

import { postgresPort } from "../../../../../infra/components/proxmox/container.ts";
import { type CtSpec, databaseDirectory, postgresCt } from "../../../../../infra/components/proxmox/ct.ts";
import { ensureCt } from "../../../../../infra/components/proxmox/ct-scripts.ts";
import { ensureDirectory } from "../../../../../infra/components/proxmox/data-scripts.ts";
import {
  ctImage,
  ensureDocker,
  ensureImage,
  registryInput,
} from "../../../../../infra/components/proxmox/docker-scripts.ts";
import { locked, script } from "../../../../../infra/components/proxmox/shell.ts";
import { databaseData, dataDirectoryOf, stackNames } from "../../../../../infra/plan/names.ts";
import { POSTGRES, type ProxmoxPlan, type SecretValues } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../../driver.ts";
import { tryDocker } from "../../../images/docker-cli.ts";
import { containerServers } from "../../docker/host/container-servers.ts";
import { deliverImage } from "../images.ts";
import { dockerIn } from "./ct-docker.ts";
import { FACTS, MOVE, READY, REMOVE, removalOf } from "./database-scripts.ts";
import { placeOf, withHost } from "./host.ts";

/** Milliseconds: of a pull in the CT; until a CT has started and its Docker answers; until it has started anew. */
const PULL_MS = 3_600_000;
const READY_MS = 180_000;
const RESTART_MS = 600_000;

/** Below the data of the server that runs. PostgreSQL passes over what it does not know. */
const WRITTEN_TO = ".cairn-upgrade";

/** `ct`: of PostgreSQL, as planned now. */
export function databaseServers(plan: ProxmoxPlan, ct: CtSpec, registry: SecretValues["registry"]): DatabaseServers {
  const host = dockerIn(plan, ct);
  const { member } = ct;
  const own = stackNames(plan.stack).postgres;
  const root = plan.dataDir.replace(/\/+$/, "");
  const directory = databaseDirectory(plan, databaseData(plan));
  const pathOf = (data: string): string => databaseDirectory(plan, data).path;
  const onHost = (argv: readonly string[], signal: AbortSignal, more: { input?: string; timeoutMs?: number } = {}) =>
    withHost(plan, signal, (there) => there.run({ member, argv, ...more }));

  const servers = containerServers({
    host,
    own,
    port: postgresPort(plan),
    labels: [],
    async makeData(_data, image, user, signal) {
      const mounts = ["--mount", `type=bind,src=${directory.mount},dst=/data`];
      const commands = `mkdir -p -m 0700 /data/${WRITTEN_TO} && chown ${user} /data/${WRITTEN_TO}`;
      await servers.oneOff(image, mounts, ["/bin/sh", "-c", commands], signal);
    },
    mounts: () => [
      ...["--mount", `type=bind,src=${POSTGRES.configuration},dst=${POSTGRES.configuration},readonly`],
      ...["--mount", `type=bind,src=${directory.mount}/${WRITTEN_TO},dst=${POSTGRES.data}`],
    ],
  });

  /** Whether the CT is the stack's, and its Docker answers. `start`: where it is stopped. */
  async function isReady(start: boolean, signal: AbortSignal): Promise<boolean> {
    const argv = script(READY, [String(ct.vmid), ct.settings["description"] ?? "", start ? "start" : ""]);
    return (await onHost(argv, signal, { timeoutMs: READY_MS })).trim() === "ready";
  }

  /** Of the host: whether these data are there, the major of the stack's own, and whether theirs can be renamed. */
  async function factsOf(data: string, signal: AbortSignal) {
    const [major = "", exists = "", movable = ""] = (
      await onHost(script(FACTS, [directory.path, pathOf(data)]), signal)
    ).split("\n");
    return { major: /^\d+$/.test(major) ? Number(major) : null, exists: exists === "yes", movable: movable === "yes" };
  }

  async function endSecond(signal: AbortSignal): Promise<void> {
    if (await isReady(true, signal)) await servers.endSecond(signal);
  }

  return {
    ...servers,

    setting: (data) => ({
      path: ["deployment", "proxmox", "database_directory"],
      value: dataDirectoryOf(plan.stack, data),
    }),

    async image(_recorded, signal) {
      if (!(await isReady(false, signal))) return null;
      const words = ["container", "inspect", "--format", "{{.Config.Image}}", "--", own];
      const { ok, stdout } = await tryDocker(words, { host, signal });
      return ok ? stdout.trim() : null;
    },

    async bring(image, report, signal) {
      if (!(await isReady(true, signal))) return;
      const { ok } = await tryDocker(["image", "inspect", "--format", "{{.Id}}", "--", image], { host, signal });
      if (ok) return;
      await deliverImage(plan, image, placeOf(plan, member), report, signal);
      const argv = ensureImage(ct, ctImage(plan, image));
      await onHost(argv, signal, { input: registryInput(registry), timeoutMs: PULL_MS });
    },

    async majors(image, signal) {
      if (!(await isReady(false, signal))) return null;
      const found = await servers.majors(image, [], signal);
      if (found === null) return null;
      return { server: found.server, data: (await factsOf(databaseData(plan), signal)).major };
    },

    async exists(data, signal) {
      const { exists, movable } = await factsOf(data, signal);
      if (movable) return exists;
      throw new InfraError(
        "INFRA_UP_REFUSED",
        `${directory.path} is a file system of its own: the new data could not move beside it.`,
        {
          hint: "Make it a plain directory: `cairn infra destroy`, a copy of it under the same name, `cairn infra up --adopt`; then run the same command again.",
        },
      );
    },

    async start(signal) {
      if (await isReady(true, signal)) await servers.start(signal);
    },

    async handOver(data, signal) {
      await endSecond(signal);
      const to = databaseDirectory(plan, data);
      await onHost(locked(String(ct.vmid), script(MOVE, [`${directory.path}/${WRITTEN_TO}`, to.path])), signal);
      await onHost(ensureDirectory(root, plan.stack, to), signal);
      // Another directory is mounted by a start alone.
      const next = postgresCt({ ...plan, postgres: plan.postgres && { ...plan.postgres, data } });
      if (next === null) return;
      await onHost(ensureCt(next), signal, { timeoutMs: RESTART_MS });
      await onHost(ensureDocker(next), signal, { timeoutMs: RESTART_MS });
    },

    async removeSecond(_data, signal) {
      await endSecond(signal);
      await onHost(locked(String(ct.vmid), script(REMOVE, [directory.path, WRITTEN_TO])), signal);
    },

    removal: (data) => removalOf(plan, pathOf(data)),
  };
}
