/** Data directories on the Proxmox host: which of them hold something, and their removal for good. */

import {
  type CtSpec,
  type DataDirectory,
  databaseDirectory,
  postgresCt,
} from "../../../../../infra/components/proxmox/ct.ts";
import { STACK_MARK } from "../../../../../infra/components/proxmox/data-scripts.ts";
import { locked, PRELUDE, script } from "../../../../../infra/components/proxmox/shell.ts";
import { databaseData, directoryData } from "../../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData, FormerData } from "../../../driver.ts";
import { noneWhereLost } from "../../lost-place.ts";
import { removalOf } from "./database-scripts.ts";
import { ctsByMember, placeOf, withHost } from "./host.ts";

export interface PlannedData {
  readonly directory: DataDirectory;
  readonly ct: CtSpec;
  /** As the outputs of the stack name it: `host[/member]:/path`. */
  readonly place: string;
}

/** Directories of the plan that are not empty, also those of another stack. */
export async function existingData(plan: ProxmoxPlan, signal: AbortSignal): Promise<ExistingData[]> {
  return withHost(plan, signal, async (host) => {
    const planned = plannedData(plan);
    const found: ExistingData[] = [];
    for (const [member, here] of Map.groupBy(planned, (data) => data.ct.member)) {
      const paths = here.map((data) => data.directory.path);
      const answer = await host.run({ member, argv: script(LIST_SCRIPT, [`${rootOf(plan)}/${plan.stack}`, ...paths]) });
      const [stack = "", ...full] = answer.split("\n");
      for (const { directory, place } of here.filter((data) => full.includes(data.directory.path))) {
        if (found.some((one) => one.place === place)) continue;
        found.push({ name: directory.name, place, stack: stack === "" ? null : stack });
      }
    }
    return found;
  });
}

/** Directories with data of PostgreSQL in the stack's own one that its plan does not name: an upgrade keeps the former one. */
export async function formerData(plan: ProxmoxPlan, signal: AbortSignal): Promise<FormerData[]> {
  const own = databaseData(plan);
  const run = withHost(plan, signal, (host) =>
    host.run({ member: null, argv: script(DATABASES, [`${rootOf(plan)}/${plan.stack}`]) }),
  );
  const names = await noneWhereLost(
    run.then((text) => text.split("\n").filter((line) => line !== "")),
    signal,
  );
  return names
    .map((folder) => directoryData(plan.stack, folder))
    .filter((name) => name !== own)
    .map((name) => {
      const { path } = databaseDirectory(plan, name);
      return { name, place: `${placeOf(plan, null)}:${path}`, stack: plan.stack, removal: removalOf(plan, path) };
    });
}

/** Throws INFRA_DATA_PROTECTED for what is neither of this plan nor former data of its stack, and while a CT still mounts it. */
export async function deleteData(
  plan: ProxmoxPlan,
  names: readonly ExistingData[],
  signal: AbortSignal,
): Promise<void> {
  const planned = [...plannedData(plan), ...(await formerOf(plan, signal))];
  const chosen = names.map(({ name, place }) => {
    const data = planned.find((own) => own.directory.name === name && own.place === place);
    if (data !== undefined) return data;
    throw new InfraError("INFRA_DATA_PROTECTED", `${name} at ${place} is no data of this deployment.`, {
      hint: "Remove it on the host yourself if it is not needed any more.",
    });
  });
  await withHost(plan, signal, async (host) => {
    for (const { directory, ct } of chosen) {
      const users = planned.filter((data) => data.directory.path === directory.path && data.ct.member === ct.member);
      const vmids = users.map((data) => String(data.ct.vmid)).join(" ");
      const below = directory.path.slice(rootOf(plan).length + 1).split("/");
      const argv = locked(String(ct.vmid), script(REMOVE, [rootOf(plan), plan.stack, directory.path, vmids, ...below]));
      await host.run({ member: ct.member, argv, timeoutMs: 600_000 });
    }
  });
}

/** As data of PostgreSQL's CT, which has them mounted no more. */
async function formerOf(plan: ProxmoxPlan, signal: AbortSignal): Promise<PlannedData[]> {
  const ct = postgresCt(plan);
  if (ct === null) return [];
  return (await formerData(plan, signal)).map(({ name, place }) => ({
    directory: databaseDirectory(plan, name),
    ct,
    place,
  }));
}

/** Directories of all nodes and of PostgreSQL, also those that are not there. */
export function plannedData(plan: ProxmoxPlan): PlannedData[] {
  const all = [...ctsByMember(plan).values()].flat();
  // The shared directory is mounted by all CTs of a host: it comes once for each.
  return all.flatMap((ct) =>
    ct.directories.map((directory) => ({ directory, ct, place: `${placeOf(plan, ct.member)}:${directory.path}` })),
  );
}

export function rootOf(plan: ProxmoxPlan): string {
  return plan.dataDir.replace(/\/+$/, "");
}

const LIST_SCRIPT = `${PRELUDE}
stack=$1; shift
head -n 1 "$stack/${STACK_MARK}" 2>/dev/null || echo
for path in "$@"; do
  if [ -n "$(ls -A "$path" 2>/dev/null | head -n 1)" ]; then printf '%s\\n' "$path"; fi
done
`;

/** `$1`: the stack's directory. Names of those in it that have data of PostgreSQL. */
const DATABASES = `${PRELUDE}
cd "$1" 2>/dev/null || exit 0
for version in */PG_VERSION; do
  folder=\${version%/PG_VERSION}
  if [ -f "$version" ] && [ ! -L "$folder" ]; then printf '%s\\n' "$folder"; fi
done
`;

/** A function of scripts: fails where one of these CTs has the directory mounted. */
export const REFUSE_MOUNTED = `refuse_mounted() { # path vmids
  for vmid in $2; do
    if pct config "$vmid" 2>/dev/null | grep -q -e "^mp[0-9]*: $1,"; then
      fail INFRA_DATA_PROTECTED "container $vmid still mounts $1; remove the container first"
    fi
  done
}`;

// Each step down is taken by \`cd\` into a directory that was seen not to be a link, and the removal stays in one file system:
// neither a link nor something that is mounted there leads it elsewhere.
const REMOVE = `${PRELUDE}
${REFUSE_MOUNTED}
root=$1 stack=$2 path=$3 vmids=$4; shift 4
refuse_mounted "$path" "$vmids"
depth=$#
cd -P "$root" 2>/dev/null || exit 0
while [ "$#" -gt 1 ]; do
  [ ! -L "$1" ] || fail INFRA_DATA_PROTECTED "$(pwd)/$1 is a symbolic link; nothing was removed"
  [ -d "$1" ] || exit 0
  cd -P "./$1"
  shift
done
[ ! -L "$1" ] || fail INFRA_DATA_PROTECTED "$(pwd)/$1 is a symbolic link; nothing was removed"
rm -rf --one-file-system -- "./$1"
# A node's other directory that was never written to: <stack>/<node>/<directory>.
[ "$depth" -lt 3 ] || find . -mindepth 1 -maxdepth 1 -type d -empty -delete
cd /
# What is left of the stack when its last directory has gone: empty directories and the file that says whose they were.
find "$root/$stack" -mindepth 1 -maxdepth 1 -type d -empty -delete 2>/dev/null || true
if [ "$(ls -A "$root/$stack" 2>/dev/null)" = "${STACK_MARK}" ]; then rm -f "$root/$stack/${STACK_MARK}"; rmdir "$root/$stack"; fi
`;
