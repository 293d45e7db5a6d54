/** Copies of data directories of a Proxmox host: one archive on this machine, or another directory there. */

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { ensureDirectory } from "../../../../../infra/components/proxmox/data-scripts.ts";
import { locked, PRELUDE, script } from "../../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData } from "../../../driver.ts";
import { type PlannedData, plannedData, REFUSE_MOUNTED, rootOf } from "./data.ts";
import { withHost } from "./host.ts";

/** Milliseconds; homes and workspaces may be large. */
const COPY_MS = 3_600_000;

/** Of one member. The file is there when it is whole. INFRA_DATA_PROTECTED for what is no data of the plan. */
export async function archiveData(
  plan: ProxmoxPlan,
  data: readonly ExistingData[],
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const chosen = data.map((one) => plannedOne(plan, one));
  const [first] = chosen;
  if (first === undefined || chosen.some(({ ct }) => ct.member !== first.ct.member)) {
    throw new InfraError("INFRA_DATA_PROTECTED", "These directories are no data of one node of this deployment.");
  }
  const paths = chosen.map(({ directory }) => directory.path.replace(/^\/+/, ""));
  const part = `${file}.part`;
  try {
    await withHost(plan, signal, async (host) => {
      const child = host.ssh.open(host.line(first.ct.member, script(ARCHIVE, paths)));
      child.stdin.end();
      await pipeline(child.stdout, createWriteStream(part, { mode: 0o600 }), { signal });
      const failure = await child.ended;
      if (failure !== null) throw failure;
    });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** `to` gets what `from` has, and nothing else. INFRA_DATA_PROTECTED while a CT has one of them. */
export async function copyData(
  plan: ProxmoxPlan,
  { from, to, node }: { readonly from: ExistingData; readonly to: string; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  const source = plannedOne(plan, from);
  const target = plannedData(plan).find(({ directory, ct }) => directory.name === to && ct.role === node);
  if (target === undefined || target.ct.member !== source.ct.member) {
    throw new InfraError("INFRA_DATA_PROTECTED", `${to} is no data of this deployment beside ${from.name}.`);
  }
  const { member } = source.ct;
  const vmids = [...new Set([source, target].map(({ ct }) => String(ct.vmid)))].join(" ");
  await withHost(plan, signal, async (host) => {
    await host.run({ member, argv: ensureDirectory(rootOf(plan), plan.stack, target.directory) });
    const argv = script(COPY, [vmids, source.directory.path, target.directory.path]);
    await host.run({ member, argv: locked(String(source.ct.vmid), argv), timeoutMs: COPY_MS });
  });
}

function plannedOne(plan: ProxmoxPlan, { name, place }: ExistingData): PlannedData {
  const found = plannedData(plan).find((own) => own.directory.name === name && own.place === place);
  if (found !== undefined) return found;
  throw new InfraError("INFRA_DATA_PROTECTED", `${name} at ${place} is no data of this deployment.`);
}

const ARCHIVE = `${PRELUDE}
exec tar -C / -cz -- "$@"
`;

// An earlier copy may have been cut off, and what it had may be gone from the original by now.
const COPY = `${PRELUDE}
${REFUSE_MOUNTED}
vmids=$1 from=$2 to=$3
for path in "$from" "$to"; do
  [ ! -L "$path" ] || fail INFRA_DATA_PROTECTED "$path is a symbolic link; nothing was copied"
  refuse_mounted "$path" "$vmids"
done
empty() { find "$to" -xdev -mindepth 1 -delete; }
forget() { empty; rmdir "$to" && rmdir "\${to%/*}" 2>/dev/null || true; }
empty
trap 'rc=$?; [ "$rc" -eq 0 ] || forget' EXIT
trap 'exit 1' HUP INT TERM
cp -a "$from/." "$to/"
echo "$to is a copy of $from"
`;
