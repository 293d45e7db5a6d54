/** Data directories of a Proxmox host as one archive on this machine. */

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { PRELUDE, script } from "../../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData } from "../../../driver.ts";
import { ctsByMember, placeOf, withHost } from "./host.ts";

/** Of one member. The file is there when it is whole. INFRA_DATA_PROTECTED for what is no data of the plan. */
export async function archiveData(
  plan: ProxmoxPlan,
  data: readonly ExistingData[],
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const planned = [...ctsByMember(plan).values()]
    .flat()
    .flatMap((ct) =>
      ct.directories.map(({ name, path }) => ({ name, path, ct, place: `${placeOf(plan, ct.member)}:${path}` })),
    );
  const chosen = data.map(({ name, place }) => planned.find((own) => own.name === name && own.place === place));
  const [first] = chosen;
  if (first === undefined || chosen.some((one) => one === undefined || one.ct.member !== first.ct.member)) {
    throw new InfraError("INFRA_DATA_PROTECTED", "These directories are no data of one node of this deployment.");
  }
  const paths = chosen.flatMap((one) => (one === undefined ? [] : [one.path.replace(/^\/+/, "")]));
  const part = `${file}.part`;
  await withHost(plan, signal, async (host) => {
    const child = host.ssh.open(host.line(first.ct.member, script(ARCHIVE, paths)));
    child.stdin.end();
    await pipeline(child.stdout, createWriteStream(part, { mode: 0o600 }), { signal });
    const failure = await child.ended;
    if (failure === null) return;
    await rm(part, { force: true });
    throw failure;
  });
  await rename(part, file);
}

const ARCHIVE = `${PRELUDE}
exec tar -C / -cz -- "$@"
`;
