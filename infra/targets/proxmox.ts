/** The stack on Proxmox: a CT a node, Docker inside it, and one for PostgreSQL; data on the host itself. */

import { type Output, type Resource, secret } from "@pulumi/pulumi";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { filesInput } from "../components/proxmox/archive.ts";
import { nodeContainer, nodeImage, postgresContainer, postgresPort } from "../components/proxmox/container.ts";
import { type CtSpec, isShared, nodeCt, postgresCt, postgresHost } from "../components/proxmox/ct.ts";
import { type CtImage, ctImage, registryInput } from "../components/proxmox/docker-scripts.ts";
import { placeName } from "../components/proxmox/member.ts";
import { databaseFiles } from "../components/proxmox/postgres.ts";
import { type RemoteHost, remoteHost } from "../components/proxmox/remote.ts";
import { dataDirectory, Workload } from "../components/proxmox/workload.ts";
import { stackNames } from "../plan/names.ts";
import { renderNodeEnv } from "../plan/node-env.ts";
import {
  CONTAINER,
  POSTGRES,
  type PostgresSecrets,
  type ProxmoxNodePlan,
  type ProxmoxPlan,
  type StackOutputs,
} from "../plan/types.ts";
import { type DatabaseAccess, databaseAccess } from "../postgres/configuration.ts";
import type { Target, TargetInput } from "./target.ts";

/** INFRA_IMAGE_MISSING, or INFRA_PLAN_INVALID for what Proxmox cannot do. */
export const target: Target<ProxmoxPlan> = (input) => {
  const { plan, parent } = input;
  const host = remoteHost(plan);
  const names = stackNames(plan.stack);
  const data = new Map<string, string>();
  const note = (ct: CtSpec): void => {
    for (const directory of ct.directories) {
      data.set(`${placeName(plan.ssh.host, ct.member)}:${directory.path}`, directory.name);
    }
  };

  const postgres = postgresOf(input, host);
  if (postgres !== null) note(postgres.ct);
  const shared = sharedDirectories(input, host);
  const nodes = plan.nodes.map((node) => {
    const ct = nodeCt(plan, node);
    const image = ctImage(plan, nodeImage(node));
    new Workload({
      name: names.node(node.name),
      host,
      root: rootOf(plan),
      ct,
      image,
      container: nodeContainer(plan, node, ct),
      files: secret(nodeFiles(input, node)),
      registry: credentials(input, image),
      shared: [...(shared.get(ct.member) ?? [])],
      dependsOn: postgres === null ? [] : [postgres.ready],
      parent,
    });
    note(ct);
    const place = placeName(plan.ssh.host, ct.member);
    return { name: node.name, workload: String(ct.vmid), place, image: image.name };
  });
  return { nodes, data: [...data].map(([place, name]) => ({ name, place })) } satisfies StackOutputs;
};

function postgresOf(
  input: TargetInput<ProxmoxPlan>,
  host: RemoteHost,
): { readonly ct: CtSpec; readonly ready: Resource } | null {
  const { plan, parent } = input;
  const ct = postgresCt(plan);
  if (plan.postgres === null || ct === null) return null;
  const image = ctImage(plan, plan.postgres.image);
  const files = needed(input.postgresSecrets).apply((secrets) =>
    filesInput(POSTGRES.configuration, databaseFiles(plan, secrets)),
  );
  const made = new Workload({
    name: stackNames(plan.stack).postgres,
    host,
    root: rootOf(plan),
    ct,
    image,
    container: postgresContainer(plan, plan.postgres.image, ct),
    files: secret(files),
    registry: credentials(input, image),
    shared: [],
    dependsOn: [],
    parent,
  });
  return { ct, ready: made.container };
}

/** The shared directory, once a host: a directory does not reach further than the host that it lies on. */
function sharedDirectories(
  { plan, parent }: TargetInput<ProxmoxPlan>,
  host: RemoteHost,
): ReadonlyMap<string | null, readonly Resource[]> {
  const made = new Map<string | null, readonly Resource[]>();
  for (const node of plan.nodes) {
    const ct = nodeCt(plan, node);
    const directory = ct.directories.find(isShared);
    if (directory === undefined || made.has(ct.member)) continue;
    made.set(ct.member, [dataDirectory(host, rootOf(plan), ct, directory, parent)]);
  }
  return made;
}

/** The configuration, the workspace seed, `.env` and the database's certificate, on their way through standard input. */
function nodeFiles({ plan, secrets, postgresSecrets }: TargetInput<ProxmoxPlan>, node: ProxmoxNodePlan) {
  const packed = (database: DatabaseAccess | null): string => {
    const content = renderNodeEnv(node, secrets.variables, database?.url ?? null);
    return filesInput(CONTAINER.configuration, [
      ...node.files,
      { path: `${CONTAINER.configuration}/.env`, content },
      ...(database === null ? [] : [{ path: POSTGRES.certificate, content: database.certificate }]),
    ]);
  };
  if (plan.postgres === null || !node.secretVariables.includes(POSTGRES.variable)) return packed(null);
  return needed(postgresSecrets).apply((made) => packed(databaseAccess(postgresHost(plan), postgresPort(plan), made)));
}

function credentials({ secrets }: TargetInput<ProxmoxPlan>, image: CtImage): Output<string> | null {
  return image.pull === null || secrets.registry === null ? null : secret(registryInput(secrets.registry));
}

function needed(secrets: Output<PostgresSecrets> | null): Output<PostgresSecrets> {
  if (secrets) return secrets;
  throw new InfraError("INFRA_PLAN_INVALID", "PostgreSQL of the stack has no password and no certificate.", {
    hint: "`cairn infra up` makes both and keeps them in the stack's configuration.",
  });
}

function rootOf(plan: ProxmoxPlan): string {
  return plan.dataDir.replace(/\/+$/, "");
}
