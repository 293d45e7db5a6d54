/** The proxmox target's part of a plan: numbers, addresses and the way to the host. */
import { InfraError } from "../../runtime/contracts/errors.ts";
import { DATABASE_NAME, directoryData } from "./names.ts";
import { limitsOf, nodePath, publishAddress } from "./node.ts";
import type { Problems } from "./problems.ts";
import type { TargetContext } from "./target-context.ts";
import type { ProxmoxNodePlan, ProxmoxPlan } from "./types.ts";

/**
 * The database has the first number, whether or not there is one, and node number N the one N after it: a node that is added
 * at the end, or a database, changes no other's.
 */
export function planProxmox(context: TargetContext, problems: Problems): ProxmoxPlan {
  const { config, common, nodes, listenPort } = context;
  const { proxmox } = config.deployment;
  // The configuration's validation reports it first.
  if (proxmox === undefined) throw new InfraError("INFRA_PLAN_INVALID", "deployment.proxmox is missing.");
  const planned = nodes.map(
    ({ base, settings }, index): ProxmoxNodePlan => ({
      ...base,
      limits: limitsOf(settings, {}),
      publish: { address: publishAddress(base.tls), port: settings.port ?? listenPort },
      vmid: settings.vmid ?? proxmox.vmid_start + 1 + index,
      pveNode: settings.pve_node ?? null,
      address: settings.address ?? "dhcp",
    }),
  );
  const postgresVmid = common.postgres === null ? null : proxmox.vmid_start;
  const postgresAddress = common.postgres === null ? null : (proxmox.postgres_address ?? null);
  const directory = proxmox.database_directory;
  const data = directory === undefined ? {} : { data: directoryData(common.stack, directory) };
  const plan: ProxmoxPlan = {
    ...common,
    postgres: common.postgres && { ...common.postgres, ...data },
    target: "proxmox",
    nodes: planned,
    ssh: {
      host: proxmox.host,
      port: proxmox.port,
      user: proxmox.user,
      hostKey: keyOf(proxmox.host_key),
      identityFile: proxmox.identity_file ?? null,
    },
    template: proxmox.template,
    storage: proxmox.storage,
    diskBytes: proxmox.disk,
    bridge: proxmox.bridge,
    vlan: proxmox.vlan ?? null,
    gateway: proxmox.gateway ?? null,
    nameserver: proxmox.nameserver ?? null,
    unprivileged: proxmox.unprivileged,
    dataDir: proxmox.data_dir,
    postgresVmid,
    postgresAddress,
  };
  checkNumbers(context, plan, problems);
  checkDatabase(context, plan, problems);
  checkDirectories(context, plan, problems);
  checkAddresses(context, plan, problems);
  return plan;
}

/** `[host] type base64`, as ssh-keyscan prints it, without the host. */
export function keyOf(line: string): string {
  const match = /^(?:\S+ )?((?:ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+)/.exec(line);
  return match?.[1] ?? line;
}

function checkNumbers({ config }: TargetContext, plan: ProxmoxPlan, problems: Problems): void {
  const taken = new Map<number, string>();
  if (plan.postgresVmid !== null) taken.set(plan.postgresVmid, "the database (deployment.proxmox.vmid_start)");
  for (const [index, { name, vmid }] of plan.nodes.entries()) {
    const other = taken.get(vmid);
    const path = nodePath(config, index, "vmid");
    if (other !== undefined) problems.refuse(path, `${vmid} is the number of ${other}, too: give ${name} another one`);
    if (vmid > 999_999_999) problems.refuse(path, `${vmid} is more than Proxmox allows`);
    taken.set(vmid, name);
  }
}

/** A container gets its address from outside: nodes would not learn of one that DHCP changes. */
function checkDatabase({ common }: TargetContext, plan: ProxmoxPlan, problems: Problems): void {
  if (common.postgres === null || plan.postgresAddress !== null) return;
  problems.refuse(
    "deployment.proxmox.postgres_address",
    "the database's container needs an address of its own, such as 192.168.1.50/24: nodes connect to it",
  );
}

/** Their directories would lie where the stack keeps other data. */
function checkDirectories({ config }: TargetContext, plan: ProxmoxPlan, problems: Problems): void {
  const directory = config.deployment.proxmox?.database_directory;
  for (const [index, { name }] of plan.nodes.entries()) {
    if (name !== "shared" && name !== DATABASE_NAME && name !== directory) continue;
    problems.refuse(nodePath(config, index, "name"), `${name} is the name of a directory of the stack: choose another`);
  }
  if (directory !== "shared") return;
  const path = "deployment.proxmox.database_directory";
  problems.refuse(path, `${directory} is the name of a directory of the stack: choose another`);
}

function checkAddresses({ config }: TargetContext, plan: ProxmoxPlan, problems: Problems): void {
  const taken = new Map<string, string>();
  const take = (path: string, name: string, address: string): void => {
    if (address === "dhcp") return;
    const host = address.replace(/\/\d+$/, "");
    const other = taken.get(host);
    if (other !== undefined) problems.refuse(path, `${host} is the address of ${other}, too`);
    taken.set(host, name);
    if (plan.gateway === null)
      problems.warn(path, "a fixed address without deployment.proxmox.gateway reaches its own network alone");
  };
  if (plan.postgresAddress !== null) {
    take("deployment.proxmox.postgres_address", "the database", plan.postgresAddress);
  }
  for (const [index, { name, address }] of plan.nodes.entries())
    take(nodePath(config, index, "address"), name, address);
}
