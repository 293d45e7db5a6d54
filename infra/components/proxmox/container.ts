/** How a node's and PostgreSQL's container run inside their CTs: the same hardening as on the docker target. Pure. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { stackNames } from "../../plan/names.ts";
import {
  CONTAINER,
  type ImageIdentity,
  POSTGRES,
  type ProxmoxNodePlan,
  type ProxmoxPlan,
  type ResourceLimits,
} from "../../plan/types.ts";
import { postgresCommand, postgresEnvironment, postgresProbe } from "../../postgres/configuration.ts";
import type { ContainerSpec } from "./container-scripts.ts";
import { type CtSpec, POSTGRES_STOP_S } from "./ct.ts";
import { ctImage } from "./docker-scripts.ts";

const MIB = 1024 ** 2;
const PIDS = 512;
const NODE_PROBE = "node /opt/cairn/dist/runtime/health-probe.js";

/** The container of a node. Throws INFRA_IMAGE_MISSING when it has no image yet. */
export function nodeContainer(plan: ProxmoxPlan, node: ProxmoxNodePlan, ct: CtSpec): ContainerSpec {
  const name = stackNames(plan.stack).node(node.name);
  const { publish } = node;
  return {
    name,
    configuration: CONTAINER.configuration,
    fileGroup: CONTAINER.gid,
    stopTimeoutS: node.stopTimeoutS,
    arguments: [
      ...common(plan, node.name, "node", node.stopTimeoutS),
      ...option("--hostname", node.name),
      ...option("--user", `${CONTAINER.uid}:${CONTAINER.gid}`),
      ...option("--pids-limit", String(PIDS)),
      ...limits(node.limits),
      ...environment(node.environment),
      ...mounts(ct, CONTAINER.configuration),
      ...option("--tmpfs", "/tmp:rw,nosuid,nodev,exec,mode=1777,size=512m"),
      ...option("--tmpfs", "/run:rw,nosuid,nodev,noexec,mode=0755,size=16m"),
      ...(publish === null
        ? []
        : option("--publish", `${hostPart(publish.address)}:${publish.port}:${CONTAINER.port}`)),
      ...probe(NODE_PROBE, 300),
      ctImage(plan, nodeImage(node)).name,
    ],
  };
}

/** The container of PostgreSQL. On the CT's own network, so that it sees the nodes' addresses and can refuse all others. */
export function postgresContainer(plan: ProxmoxPlan, image: string, ct: CtSpec): ContainerSpec {
  const owner = `uid=${POSTGRES.uid},gid=${POSTGRES.gid}`;
  return {
    name: stackNames(plan.stack).postgres,
    configuration: POSTGRES.configuration,
    fileGroup: POSTGRES.gid,
    stopTimeoutS: POSTGRES_STOP_S,
    arguments: [
      ...common(plan, "postgres", "postgres", POSTGRES_STOP_S),
      ...option("--network", "host"),
      ...option("--user", `${POSTGRES.uid}:${POSTGRES.gid}`),
      ...option("--shm-size", "256m"),
      ...environment(postgresEnvironment()),
      ...mounts(ct, POSTGRES.configuration),
      ...option("--tmpfs", "/tmp:rw,nosuid,nodev,noexec,mode=1777,size=256m"),
      ...option("--tmpfs", `/var/run/postgresql:rw,nosuid,nodev,noexec,mode=0775,${owner},size=1m`),
      ...probe(postgresProbe(postgresPort(plan)).join(" "), 600),
      ...option("--entrypoint", postgresCommand()[0] ?? "/bin/sh"),
      ctImage(plan, image).name,
      ...postgresCommand().slice(1),
      ...option("-c", `port=${postgresPort(plan)}`),
    ],
  };
}

/** Port on the address of PostgreSQL's CT. */
export function postgresPort(plan: ProxmoxPlan): number {
  return plan.postgres?.publish?.port ?? POSTGRES.port;
}

/** Throws INFRA_IMAGE_MISSING when the node has none yet. */
export function nodeImage(node: ProxmoxNodePlan): ImageIdentity {
  if (node.image !== null) return node.image;
  throw new InfraError("INFRA_IMAGE_MISSING", `Node ${node.name} has no image yet.`, {
    hint: "Run `cairn build`, or name an image with `--image`.",
  });
}

function common(plan: ProxmoxPlan, service: string, role: string, stopTimeoutS: number): string[] {
  const labels: Record<string, string> = {
    "cairn.stack": plan.stack,
    "cairn.role": role,
    ...(role === "node" ? { "cairn.node": service } : {}),
    "com.docker.compose.project": plan.stack,
    "com.docker.compose.service": service,
    "com.docker.compose.container-number": "1",
    "com.docker.compose.oneoff": "False",
  };
  return [
    ...Object.entries(labels).flatMap(([name, value]) => option("--label", `${name}=${value}`)),
    ...option("--restart", "unless-stopped"),
    ...option("--stop-timeout", String(stopTimeoutS)),
    "--read-only",
    ...option("--cap-drop", "ALL"),
    ...option("--security-opt", "no-new-privileges"),
    ...option("--log-driver", "json-file"),
    ...option("--log-opt", "max-size=10m"),
    ...option("--log-opt", "max-file=5"),
  ];
}

function limits(limit: ResourceLimits): string[] {
  const memory = limit.memoryBytes === null ? null : `${Math.floor(limit.memoryBytes / MIB)}m`;
  return [
    ...(memory === null ? [] : [...option("--memory", memory), ...option("--memory-swap", memory)]),
    ...(limit.cpus === null ? [] : option("--cpus", String(limit.cpus))),
  ];
}

function environment(values: Readonly<Record<string, string>>): string[] {
  return Object.keys(values)
    .sort()
    .flatMap((name) => option("--env", `${name}=${values[name]}`));
}

function mounts(ct: CtSpec, configuration: string): string[] {
  return [
    ...option("--mount", `type=bind,src=${configuration},dst=${configuration},readonly`),
    ...ct.directories.flatMap((data) => option("--mount", `type=bind,src=${data.mount},dst=${data.target}`)),
  ];
}

/** `startS`: failures of the first seconds do not count. Text of ours alone: Docker hands it to a shell. */
function probe(command: string, startS: number): string[] {
  return [
    ...option("--health-cmd", command),
    ...option("--health-interval", "5s"),
    ...option("--health-timeout", "10s"),
    ...option("--health-retries", "3"),
    ...option("--health-start-period", `${startS}s`),
  ];
}

function option(name: string, value: string): string[] {
  return [name, value];
}

function hostPart(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
