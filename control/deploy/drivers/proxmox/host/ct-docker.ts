/** Docker in a CT, for what speaks to an engine: by ssh, `pct exec` and the command line there. */

import type { CtSpec } from "../../../../../infra/components/proxmox/ct.ts";
import { inCt } from "../../../../../infra/components/proxmox/docker-scripts.ts";
import { remoteLine } from "../../../../../infra/components/proxmox/member.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { RemoteDocker } from "../../../images/docker-cli.ts";
import { NO_CONNECTION, parseSshFailure } from "../../../ssh/failure.ts";
import { openSsh } from "../../../ssh/ssh.ts";
import { placeOf } from "./host.ts";

/** What `pct exec` says of a CT that it cannot enter. */
const NO_CT = /^(?:container '\d+' not running|CT \d+ not running|Configuration file '.*' does not exist)/m;

export function dockerIn(plan: ProxmoxPlan, { vmid, member }: Pick<CtSpec, "vmid" | "member">): RemoteDocker {
  const { host, user } = plan.ssh;
  return {
    place: `in the CT ${vmid} of ${placeOf(plan, member)}`,
    async command(args) {
      const line = remoteLine({ user, member }, inCt({ vmid }, ["docker", ...args]));
      const ssh = await openSsh(plan.ssh);
      const command = ssh.command(line, false);
      // Standard error is read as Docker's: without the banner of the host. The first of two settings counts.
      return { program: command.program, args: ["-o", "LogLevel=ERROR", ...command.args], close: () => ssh.close() };
    },
    failure(words) {
      if (NO_CT.test(words)) {
        return new InfraError("INFRA_FAILED", `The CT ${vmid} of ${placeOf(plan, member)} does not run.`, {
          hint: `Start it there: \`pct start ${vmid}\`, then run the same command again.`,
        });
      }
      return NO_CONNECTION.test(words) ? parseSshFailure(host, { exitCode: 255, stderr: words }) : null;
    },
  };
}
