/** The stack on Docker: a network on each host, PostgreSQL where it is asked for, and a container a node. */

import { type Output, secret } from "@pulumi/pulumi";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { isWildcard } from "../../runtime/contracts/urls.ts";
import { parseDockerHost } from "../components/docker/address.ts";
import { type DockerHost, dockerHost } from "../components/docker/host.ts";
import { DockerNode } from "../components/docker/node.ts";
import { DockerPostgres } from "../components/docker/postgres.ts";
import { dataVolume } from "../components/docker/volume.ts";
import { stackNames } from "../plan/names.ts";
import {
  type DockerNodePlan,
  type DockerPlan,
  POSTGRES,
  type PostgresSecrets,
  type StackOutputs,
} from "../plan/types.ts";
import { type DatabaseAccess, databaseAccess } from "../postgres/configuration.ts";
import type { Target, TargetInput } from "./target.ts";

/** INFRA_IMAGE_MISSING, or INFRA_PLAN_INVALID when nodes cannot reach PostgreSQL on another host. */
export const target: Target<DockerPlan> = (input) => {
  const { plan, adopt, parent } = input;
  const names = stackNames(plan.stack);
  const hosts = hostsOf(plan, input.parent);
  const shared = plan.sharedStorage ? sharedVolumes(input, hosts) : new Map<string, Output<string>>();
  const postgres = postgresOf(input, hosts);
  const data: { name: string; place: string }[] = [];
  if (postgres) data.push({ name: postgres.volume, place: plan.host });

  const nodes = plan.nodes.map((node) => {
    const made = new DockerNode({
      plan,
      node,
      host: hostNamed(hosts, node.host),
      variables: input.secrets.variables,
      database: databaseOf(input, node),
      sharedVolume: shared.get(node.host) ?? null,
      adopt,
      dependsOn: postgres ? [postgres.container] : [],
      parent,
    });
    data.push(...made.volumes.map((name) => ({ name, place: node.host })));
    return { name: node.name, workload: names.node(node.name), place: node.host, image: made.image };
  });
  data.push(...[...shared.keys()].map((place) => ({ name: names.shared, place })));
  return { nodes, data } satisfies StackOutputs;
};

function hostsOf(plan: DockerPlan, parent: TargetInput["parent"]): ReadonlyMap<string, DockerHost> {
  const addresses = new Set([...(plan.postgres ? [plan.host] : []), ...plan.nodes.map((node) => node.host)]);
  return new Map([...addresses].map((address) => [address, dockerHost(plan, address, parent)]));
}

function hostNamed(hosts: ReadonlyMap<string, DockerHost>, address: string): DockerHost {
  const host = hosts.get(address);
  if (host) return host;
  throw new InfraError("INFRA_PLAN_INVALID", `The plan does not have the host ${address}.`);
}

/** Shared by the nodes of one host: a volume of Docker does not reach further. */
function sharedVolumes(
  { plan, adopt, parent }: TargetInput<DockerPlan>,
  hosts: ReadonlyMap<string, DockerHost>,
): Map<string, Output<string>> {
  const addresses = new Set(plan.nodes.map((node) => node.host));
  const volume = (host: DockerHost) =>
    dataVolume({ plan, host, name: stackNames(plan.stack).shared, role: "shared", adopt, parent });
  return new Map([...addresses].map((address) => [address, volume(hostNamed(hosts, address)).name]));
}

function postgresOf(
  { plan, postgresSecrets, adopt, parent }: TargetInput<DockerPlan>,
  hosts: ReadonlyMap<string, DockerHost>,
): DockerPostgres | null {
  if (!plan.postgres) return null;
  const host = hostNamed(hosts, plan.host);
  const secrets = secret(needed(postgresSecrets));
  return new DockerPostgres({ plan, postgres: plan.postgres, host, secrets, adopt, parent });
}

/** The stack's own database wins over a connection string of the same name, which is one of the operator's machine. */
function databaseOf(
  { plan, postgresSecrets }: TargetInput<DockerPlan>,
  node: DockerNodePlan,
): Output<DatabaseAccess> | null {
  if (!plan.postgres || !node.secretVariables.includes(POSTGRES.variable)) return null;
  const [host, port] = databaseAddress(plan, node);
  return needed(postgresSecrets).apply((secrets) => databaseAccess(host, port, secrets));
}

function databaseAddress(plan: DockerPlan, node: DockerNodePlan): readonly [host: string, port: number] {
  if (node.host === plan.host) return [stackNames(plan.stack).postgres, POSTGRES.port];
  const publish = plan.postgres?.publish;
  // An address that means every interface is none to connect to.
  const host = publish && isWildcard(publish.address) ? parseDockerHost(plan.host)?.host : publish?.address;
  if (publish && host) return [host, publish.port];
  throw new InfraError(
    "INFRA_PLAN_INVALID",
    `Node ${node.name} runs on ${node.host} and cannot reach PostgreSQL on ${plan.host}.`,
    { hint: "Give deployment.datahub.publish an address of that host, or the node a memory.postgres of its own." },
  );
}

function needed(secrets: Output<PostgresSecrets> | null): Output<PostgresSecrets> {
  if (secrets) return secrets;
  throw new InfraError("INFRA_PLAN_INVALID", "PostgreSQL of the stack has no password and no certificate.", {
    hint: "`cairn infra up` makes both and keeps them in the stack's configuration.",
  });
}
