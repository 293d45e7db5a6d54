/**
 * What a container (CT) of Proxmox is to be, as the settings that `pct create` and `pct set` take. Pure; the ensure script,
 * the drift inspection and the golden files all read the same list.
 */

import { createHash } from "node:crypto";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { DATABASE_NAME, databaseData, dataDirectoryOf, stackNames } from "../../plan/names.ts";
import type { ProxmoxNodePlan, ProxmoxPlan } from "../../plan/types.ts";
import { CONTAINER, POSTGRES } from "../../plan/types.ts";

/** Settings that are unset when the plan does not want them; all others are kept when they are not named. */
export const ABSENT = "";

export interface CtSpec {
  readonly vmid: number;
  readonly member: string | null;
  readonly stack: string;
  /** Node's name, or `postgres`. */
  readonly role: string;
  readonly template: string;
  readonly storage: string;
  readonly diskGiB: number;
  readonly unprivileged: boolean;
  /** `pct` option -> value, in the order in which they are given. ABSENT: must not be set. */
  readonly settings: Readonly<Record<string, string>>;
  readonly directories: readonly DataDirectory[];
  readonly stopTimeoutS: number;
  /** On the host: there while the CT is being made. */
  readonly intentFile: string;
  /** On the host: `ctHash` of what was applied last. */
  readonly appliedFile: string;
}

/** A directory on the Proxmox host that outlives the CT. */
export interface DataDirectory {
  /** As docker names the same volume: `<stack>-<node>-home`. */
  readonly name: string;
  /** On the Proxmox host. */
  readonly path: string;
  /** Inside the CT. */
  readonly mount: string;
  /** Inside the container in the CT. */
  readonly target: string;
  /** As seen on the Proxmox host. */
  readonly uid: number;
  readonly gid: number;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** An unprivileged CT's root is this user of the host (the mapping that Proxmox itself uses). */
const SUBUID_BASE = 100_000;
/** For the CT's own system and its Docker, beside what the node may use. */
const OVERHEAD_MIB = 256;
/** Of a CT whose node has no limit. */
const DEFAULT_MEMORY_MIB = 2048;
const SWAP_MIB = 512;
/** Of the mount points that this program uses; others are the operator's. */
const MOUNT_POINTS = 4;
/** Seconds. A checkpoint of much data takes its time, and a kill instead means recovery at the next start. */
export const POSTGRES_STOP_S = 120;

/** Name of the shared directory below the stack's. */
const SHARED = "shared";

/** The CT of one node. */
export function nodeCt(plan: ProxmoxPlan, node: ProxmoxNodePlan): CtSpec {
  const names = stackNames(plan.stack);
  if (node.name === DATABASE_NAME || node.name === SHARED) {
    throw new InfraError("INFRA_PLAN_INVALID", `A node on Proxmox cannot be called ${node.name}.`, {
      hint: "Its data would lie where the stack keeps other data; choose another name.",
    });
  }
  const directories = [
    directory(plan, names.home(node.name), [node.name, "home"], CONTAINER.home, CONTAINER),
    directory(plan, names.workspace(node.name), [node.name, "workspace"], CONTAINER.workspaces, CONTAINER),
    ...(plan.sharedStorage ? [sharedDirectory(plan, node.pveNode)] : []),
  ];
  const memory = node.limits.memoryBytes;
  return ct(plan, {
    vmid: node.vmid,
    member: node.pveNode,
    role: node.name,
    hostname: node.name,
    address: node.address,
    memoryMiB: memory === null ? DEFAULT_MEMORY_MIB : Math.ceil(memory / MIB) + OVERHEAD_MIB,
    cpus: node.limits.cpus,
    // After PostgreSQL, and down before it.
    order: 2,
    stopTimeoutS: node.stopTimeoutS,
    directories,
  });
}

/** For all nodes of one member of a cluster; a directory reaches no further, so each member has one of its own. */
function sharedDirectory(plan: ProxmoxPlan, member: string | null): DataDirectory {
  const name = stackNames(plan.stack).shared;
  return directory(plan, member === null ? name : `${name}-${member}`, [SHARED], CONTAINER.shared, CONTAINER);
}

export function isShared(directory: DataDirectory): boolean {
  return directory.target === CONTAINER.shared;
}

/** The CT of PostgreSQL; null where the plan has none. Throws INFRA_PLAN_INVALID without a fixed address. */
export function postgresCt(plan: ProxmoxPlan): CtSpec | null {
  if (plan.postgres === null || plan.postgresVmid === null) return null;
  const memory = plan.postgres.limits.memoryBytes;
  const names = stackNames(plan.stack);
  return ct(plan, {
    vmid: plan.postgresVmid,
    member: null,
    role: DATABASE_NAME,
    hostname: names.postgres,
    address: `${postgresHost(plan)}/${plan.postgresAddress?.split("/")[1] ?? ""}`,
    memoryMiB: memory === null ? DEFAULT_MEMORY_MIB : Math.ceil(memory / MIB) + OVERHEAD_MIB,
    cpus: plan.postgres.limits.cpus,
    order: 1,
    stopTimeoutS: POSTGRES_STOP_S,
    directories: [databaseDirectory(plan, databaseData(plan))],
  });
}

/** Where PostgreSQL's data of this name lie. */
export function databaseDirectory(plan: ProxmoxPlan, data: string): DataDirectory {
  return directory(plan, data, [dataDirectoryOf(plan.stack, data)], POSTGRES.data, POSTGRES);
}

/** Address of PostgreSQL's CT without its prefix. Nodes have it in their configuration, so it cannot come from DHCP. */
export function postgresHost(plan: ProxmoxPlan): string {
  const address = plan.postgresAddress;
  if (address === null || address === "dhcp") {
    throw new InfraError("INFRA_PLAN_INVALID", "On Proxmox, PostgreSQL needs a fixed address: nodes connect to it.", {
      hint: "Set deployment.proxmox.postgres_address, such as 192.168.1.50/24, or memory.postgres of your own.",
    });
  }
  return address.split("/")[0] ?? address;
}

/** All CTs of a plan, PostgreSQL first. */
export function allCts(plan: ProxmoxPlan): readonly CtSpec[] {
  const postgres = postgresCt(plan);
  return [...(postgres === null ? [] : [postgres]), ...plan.nodes.map((node) => nodeCt(plan, node))];
}

/** Hash of what `ensureCt` brings about: distinguishes a plan that is not applied yet from a CT that was changed by hand. */
export function ctHash(spec: CtSpec): string {
  const { settings, unprivileged, diskGiB } = spec;
  return createHash("sha256").update(JSON.stringify({ settings, unprivileged, diskGiB })).digest("hex");
}

/** The words in a CT's notes that say whose it is. No colon and no percent sign: `pct config` would encode them. */
export function ownerMark(stack: string, role: string): string {
  return `cairn.stack=${stack} cairn.node=${role}`;
}

interface CtParts {
  readonly vmid: number;
  readonly member: string | null;
  readonly role: string;
  readonly hostname: string;
  readonly address: string;
  readonly memoryMiB: number;
  readonly cpus: number | null;
  readonly order: number;
  readonly stopTimeoutS: number;
  readonly directories: readonly DataDirectory[];
}

function ct(plan: ProxmoxPlan, parts: CtParts): CtSpec {
  const { vmid, member, role, directories, stopTimeoutS } = parts;
  const settings: Record<string, string> = {
    hostname: parts.hostname,
    memory: String(parts.memoryMiB),
    swap: String(SWAP_MIB),
    cores: parts.cpus === null ? ABSENT : String(Math.ceil(parts.cpus)),
    cpulimit: parts.cpus === null ? ABSENT : String(parts.cpus),
    // Docker inside a CT needs both; keyctl exists for unprivileged ones alone.
    features: plan.unprivileged ? "nesting=1,keyctl=1" : "nesting=1",
    net0: network(plan, parts.address),
    nameserver: plan.nameserver ?? ABSENT,
    onboot: "1",
    startup: `order=${parts.order},down=${stopTimeoutS + 15}`,
    tags: "cairn",
    description: ownerMark(plan.stack, role),
  };
  for (let index = 0; index < MOUNT_POINTS; index += 1) {
    const mounted = directories[index];
    settings[`mp${index}`] = mounted === undefined ? ABSENT : `${mounted.path},mp=${mounted.mount}`;
  }
  return {
    vmid,
    member,
    stack: plan.stack,
    role,
    template: plan.template,
    storage: plan.storage,
    diskGiB: Math.ceil(plan.diskBytes / GIB),
    unprivileged: plan.unprivileged,
    settings,
    directories,
    stopTimeoutS,
    intentFile: `${stackDirectory(plan)}/.creating-${vmid}`,
    appliedFile: `${stackDirectory(plan)}/.applied-${vmid}`,
  };
}

function network(plan: ProxmoxPlan, address: string): string {
  const family = address.includes(":") ? "ip6" : "ip";
  const gateway = family === "ip6" ? "gw6" : "gw";
  return [
    "name=eth0",
    `bridge=${plan.bridge}`,
    ...(plan.vlan === null ? [] : [`tag=${plan.vlan}`]),
    `${family}=${address}`,
    ...(address !== "dhcp" && plan.gateway !== null ? [`${gateway}=${plan.gateway}`] : []),
  ].join(",");
}

function directory(
  plan: ProxmoxPlan,
  name: string,
  below: readonly string[],
  target: string,
  owner: { readonly uid: number; readonly gid: number },
): DataDirectory {
  const base = plan.unprivileged ? SUBUID_BASE : 0;
  return {
    name,
    path: [stackDirectory(plan), ...below].join("/"),
    mount: `/srv/cairn-data/${below.at(-1) ?? ""}`,
    target,
    uid: base + owner.uid,
    gid: base + owner.gid,
  };
}

/** `<dataDir>/<stack>` on the Proxmox host, without a slash at its end. */
function stackDirectory(plan: Pick<ProxmoxPlan, "dataDir" | "stack">): string {
  return `${dataDirectory(plan)}/${plan.stack}`;
}

/** Where images lie on the Proxmox host until the CTs have loaded them. */
export function imageDirectory(plan: Pick<ProxmoxPlan, "dataDir">): string {
  return `${dataDirectory(plan)}/.images`;
}

/** Paths go into settings of the form `path,mp=...`: a comma or another special character in them would change their meaning. */
function dataDirectory(plan: Pick<ProxmoxPlan, "dataDir">): string {
  const path = plan.dataDir.replace(/\/+$/, "");
  if (!/^(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/.test(path)) {
    throw new InfraError("INFRA_PLAN_INVALID", `The data directory ${JSON.stringify(plan.dataDir)} is not usable.`, {
      hint: "deployment.proxmox.data_dir is an absolute path of letters, digits, dots, hyphens and underscores.",
    });
  }
  return path;
}
