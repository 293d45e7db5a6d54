/** What can be known to go wrong on Proxmox before anything is changed. Looks, and changes nothing. */

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { type CtSpec, ownerMark, postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import { PRELUDE, script } from "../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { Finding } from "../../driver.ts";
import { ctsByMember, placeOf, withHost } from "./host/host.ts";

/** Room for an image on its way and for what the nodes write at first, in KiB. */
const DATA_ROOM_KIB = 2 * 1024 ** 2;

/** One line a fact, as PROBE_SCRIPT prints them. */
export interface Facts {
  readonly pct: boolean;
  /** Null: no storage of that name, or it is not active. */
  readonly storageKib: number | null;
  readonly template: boolean;
  readonly bridge: boolean;
  /** Free where the data directory lies or will lie. */
  readonly dataKib: number;
  readonly cts: ReadonlyMap<number, "free" | "ours" | "other">;
  /** CTs of this plan that run on another member than planned: `vmid member`. */
  readonly elsewhere: readonly { readonly vmid: number; readonly member: string }[];
}

export async function preflight(plan: ProxmoxPlan, signal: AbortSignal): Promise<readonly Finding[]> {
  const local = await localFindings(plan);
  if (local.some(({ severity }) => severity === "error")) return local;
  try {
    const remote = await withHost(plan, signal, async (host) => {
      const findings: Finding[] = [];
      for (const [member, cts] of ctsByMember(plan)) {
        const facts = parseFacts(await host.run({ member, argv: probeArguments(plan, member, cts) }));
        findings.push(...findingsOf(plan, placeOf(plan, member), cts, facts));
      }
      return findings;
    });
    return [...local, ...remote];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof InfraError)) throw error;
    return [...local, finding("error", error.code, error.message, error.toBody().hint)];
  }
}

async function localFindings(plan: ProxmoxPlan): Promise<Finding[]> {
  const findings: Finding[] = [];
  const { identityFile } = plan.ssh;
  if (identityFile !== null && !(await readable(identityFile))) {
    const words = `The SSH key ${identityFile} cannot be read.`;
    findings.push(finding("error", "INFRA_PLAN_INVALID", words, "Correct deployment.proxmox.identity_file."));
  }
  try {
    postgresCt(plan);
  } catch (error) {
    if (!(error instanceof InfraError)) throw error;
    findings.push(finding("error", error.code, error.message, error.toBody().hint));
  }
  return findings;
}

/** Pure. */
export function findingsOf(plan: ProxmoxPlan, place: string, cts: readonly CtSpec[], facts: Facts): Finding[] {
  if (!facts.pct) {
    return [
      finding(
        "error",
        "INFRA_TOOL_MISSING",
        `There is no \`pct\` on ${place}: it is no Proxmox VE host.`,
        "Check deployment.proxmox.host.",
      ),
    ];
  }
  const findings: Finding[] = [];
  const error = (code: Finding["code"], message: string, hint?: string): void => {
    findings.push(finding("error", code, message, hint));
  };
  const fresh = cts.filter((ct) => facts.cts.get(ct.vmid) === "free");
  for (const ct of cts.filter(({ vmid }) => facts.cts.get(vmid) === "other")) {
    error(
      "INFRA_UP_REFUSED",
      `Number ${ct.vmid} on ${place} belongs to something else; ${ct.role} cannot have it.`,
      "Choose another vmid (nodes[].vmid, or vmid_start).",
    );
  }
  for (const { vmid, member } of facts.elsewhere) {
    error(
      "INFRA_DATA_EXISTS",
      `Container ${vmid} of this stack runs on ${member}, and the plan has it on ${place}: its data would stay behind.`,
      "Leave pve_node as it is, or destroy the stack, copy its data directory to the other member, and run up again.",
    );
  }
  if (facts.storageKib === null) {
    error(
      "INFRA_FAILED",
      `Storage ${plan.storage} on ${place} does not exist or is not active.`,
      "See `pvesm status` there, and deployment.proxmox.storage.",
    );
  } else if (fresh.length > 0 && facts.storageKib < fresh.reduce((sum, ct) => sum + ct.diskGiB, 0) * 1024 ** 2) {
    findings.push(
      finding(
        "warning",
        "INFRA_DISK_FULL",
        `Storage ${plan.storage} on ${place} has less room than ${fresh.length} root disks of the planned size.`,
        "On thin storage this works until the disks fill up; lower deployment.proxmox.disk or add room.",
      ),
    );
  }
  if (fresh.length > 0 && !facts.template) {
    const [storage = "", file = ""] = plan.template.split(":vztmpl/");
    error(
      "INFRA_IMAGE_MISSING",
      `Template ${plan.template} is not on ${place}.`,
      `Run there: pveam update && pveam download ${storage} ${file}`,
    );
  }
  if (!facts.bridge)
    error("INFRA_FAILED", `There is no bridge ${plan.bridge} on ${place}.`, "Correct deployment.proxmox.bridge.");
  if (facts.dataKib < DATA_ROOM_KIB) {
    error(
      "INFRA_DISK_FULL",
      `Less than 2 GiB are free for ${plan.dataDir} on ${place}.`,
      "Make room, or move deployment.proxmox.data_dir.",
    );
  }
  return findings;
}

function probeArguments(plan: ProxmoxPlan, member: string | null, cts: readonly CtSpec[]): readonly string[] {
  return script(PROBE_SCRIPT, [
    plan.storage,
    plan.template,
    plan.bridge,
    plan.dataDir,
    member ?? "",
    ...cts.flatMap((ct) => [String(ct.vmid), ownerMark(ct.stack, ct.role), ct.intentFile]),
  ]);
}

export function parseFacts(text: string): Facts {
  const lines = text.split("\n").map((line) => line.split(" "));
  const values = (name: string): string[][] => lines.filter(([first]) => first === name).map((line) => line.slice(1));
  const number = (word: string | undefined): number | null =>
    word !== undefined && /^\d+$/.test(word) ? Number(word) : null;
  const state = (word: string | undefined): "free" | "ours" | "other" =>
    word === "free" || word === "ours" ? word : "other";
  return {
    pct: values("pct")[0]?.[0] === "yes",
    storageKib: number(values("storage")[0]?.[0]),
    template: values("template")[0]?.[0] === "yes",
    bridge: values("bridge")[0]?.[0] === "yes",
    dataKib: number(values("data")[0]?.[0]) ?? 0,
    cts: new Map(values("ct").map(([vmid, word]) => [Number(vmid), state(word)])),
    elsewhere: values("elsewhere").map(([vmid = "", member = ""]) => ({ vmid: Number(vmid), member })),
  };
}

function finding(severity: Finding["severity"], code: string, message: string, hint?: string): Finding {
  return { severity, code, message, ...(hint === undefined ? {} : { hint }) };
}

async function readable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

const PROBE_SCRIPT = `${PRELUDE}
storage=$1 template=$2 bridge=$3 data=$4 member=$5; shift 5
command -v pct >/dev/null || { echo 'pct no'; exit 0; }
command -v flock >/dev/null || fail INFRA_TOOL_MISSING "there is no flock on this host; install util-linux"
echo 'pct yes'
printf 'storage %s\\n' "$(pvesm status --storage "$storage" 2>/dev/null | awk -v name="$storage" '$1 == name && $3 == "active" { print $6 }')"
if pveam list "\${template%%:*}" 2>/dev/null | awk '{ print $1 }' | grep -Fqx -- "$template"; then echo 'template yes'; else echo 'template no'; fi
if [ -d "/sys/class/net/$bridge" ]; then echo 'bridge yes'; else echo 'bridge no'; fi
until [ -d "$data" ]; do data=$(dirname -- "$data"); done
printf 'data %s\\n' "$(df -Pk "$data" | awk 'NR == 2 { print $4 }')"
here=\${member:-$(uname -n | cut -d. -f1)}
while [ "$#" -gt 0 ]; do
  vmid=$1 mark=$2 intent=$3; shift 3
  if config=$(pct config "$vmid" 2>/dev/null); then
    case " $(printf '%s\\n' "$config" | sed -n 's/^description: //p' | sed 's/%0A/ /g') " in
      *" $mark "*) echo "ct $vmid ours" ;;
      *)
        # A creation that the host broke off has left no mark yet: \`up\` makes the CT anew.
        if [ -f "$intent" ] && printf '%s\\n' "$config" | grep -qx 'lock: create'; then echo "ct $vmid free"
        else echo "ct $vmid other"; fi
        ;;
    esac
  elif pvesh get /cluster/nextid --vmid "$vmid" >/dev/null 2>&1; then
    echo "ct $vmid free"
  else
    echo "ct $vmid other"
  fi
  # The members' settings lie in one file system that all of them see.
  for file in $(grep -l -r -e "^#.*$mark" /etc/pve/nodes/*/lxc 2>/dev/null); do
    other=\${file#/etc/pve/nodes/}
    other=\${other%%/*}
    [ "$other" = "$here" ] || echo "elsewhere $(basename -- "$file" .conf) $other"
  done
done
`;
