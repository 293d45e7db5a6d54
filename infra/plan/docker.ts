/** The docker target's part of a plan: hosts, ports and limits. */

import { isLoopback } from "../../runtime/config/index.ts";
import { isWildcard } from "../../runtime/contracts/urls.ts";
import { defaultMemory } from "./default-limits.ts";
import {
  dockerHostOf,
  limitsOf,
  type NodeBase,
  type NodeSettings,
  nodePath,
  publishAddress,
  publishedPort,
} from "./node.ts";
import type { Problems } from "./problems.ts";
import type { TargetContext } from "./target-context.ts";
import type { DockerNodePlan, DockerPlan } from "./types.ts";

interface Port {
  readonly path: string;
  readonly address: string;
  readonly port: number;
}

export function planDocker(context: TargetContext, problems: Problems): DockerPlan {
  const { config, common, nodes } = context;
  const { docker } = config.deployment;
  const planned = nodes.map(({ base, settings }, index) => planNode(context, base, settings, index));
  checkPorts(context, planned, problems);
  checkHosts(context, planned, common, problems);
  const machine = context.machines[docker.host];
  const memoryBytes =
    common.postgres?.limits.memoryBytes ?? (machine === undefined ? null : defaultMemory(machine, 1).database);
  const data = docker.database_volume === undefined ? {} : { data: docker.database_volume };
  return {
    ...common,
    postgres: common.postgres && { ...common.postgres, ...data, limits: { ...common.postgres.limits, memoryBytes } },
    target: "docker",
    nodes: planned,
    host: docker.host,
    network: docker.network,
    pids: docker.pids,
    logMaxBytes: docker.log_max_size,
    logMaxFiles: docker.log_max_files,
  };
}

function planNode(context: TargetContext, base: NodeBase, settings: NodeSettings, index: number): DockerNodePlan {
  const { config, listenPort } = context;
  const { docker } = config.deployment;
  const nodes = context.nodes.map((node) => node.settings);
  const host = dockerHostOf(config, settings);
  const here = nodes.filter((other) => dockerHostOf(config, other) === host).length;
  const machine = context.machines[host];
  const memory = docker.memory ?? (machine === undefined ? undefined : defaultMemory(machine, here).node);
  return {
    ...base,
    limits: limitsOf(settings, { memory, cpus: docker.cpus }),
    publish: { address: publishAddress(base.tls), port: publishedPort(config, nodes, index, listenPort) },
    host,
  };
}

function checkPorts(context: TargetContext, planned: readonly DockerNodePlan[], problems: Problems): void {
  const { config, common } = context;
  const taken = new Map<string, Port[]>();
  const take = (host: string, wanted: Port): void => {
    const ports = taken.get(host) ?? [];
    taken.set(host, [...ports, wanted]);
    if (wanted.port > 65_535) problems.refuse(wanted.path, `${wanted.port} is no port: give the node one of its own`);
    const other = ports.find((port) => collide(port, wanted));
    if (other === undefined) return;
    problems.refuse(wanted.path, `port ${wanted.port} on ${host} is that of ${other.path}, too: give it another one`);
  };
  if (common.postgres?.publish) {
    take(config.deployment.docker.host, { path: "deployment.datahub.publish", ...common.postgres.publish });
  }
  for (const [index, { host, publish }] of planned.entries()) {
    if (publish) take(host, { path: nodePath(config, index, "port"), ...publish });
  }
}

function collide(a: Port, b: Port): boolean {
  if (a.port !== b.port) return false;
  return a.address === b.address || isWildcard(a.address) || isWildcard(b.address);
}

/** What nodes on several hosts cannot have, as a docker network and a docker volume are one host's. */
function checkHosts(
  context: TargetContext,
  planned: readonly DockerNodePlan[],
  { postgres, sharedStorage }: TargetContext["common"],
  problems: Problems,
): void {
  const { config } = context;
  const { host } = config.deployment.docker;
  for (const [index, node] of planned.entries()) {
    if (node.host === host) continue;
    const path = nodePath(config, index, "host");
    if (sharedStorage) {
      problems.refuse(
        path,
        `a docker volume is one host's, and deployment.datahub.shared_storage is on ${host}: put the node there, or switch shared_storage off and mount a network file system yourself`,
      );
    }
    if (postgres === null) continue;
    if (postgres.publish === null) {
      problems.refuse(
        path,
        `${node.name} cannot reach the PostgreSQL on ${host}: set deployment.datahub.publish to an address of that host that this one reaches (\`10.0.0.5:5432\`), or switch deployment.datahub.postgres off and give memory.postgres the address of a server of your own`,
      );
    } else if (isLoopback(postgres.publish.address) || (isWildcard(postgres.publish.address) && host === "local")) {
      problems.refuse(
        "deployment.datahub.publish",
        `${node.name} on ${node.host} has to connect to it: give the address of ${host} that other hosts reach`,
      );
    }
  }
}
