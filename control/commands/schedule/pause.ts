import type { ScheduleStatus } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { findSchedule, scheduleArgs, scheduleFlags } from "../../schedule/find-schedule.ts";

import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class SchedulePause extends NodeCommand<ScheduleStatus> {
  static override description =
    "Pause a schedule: no node starts a run of it by the plan, until `schedule resume`\n\n" +
    "Runs that have begun go on. A pause outlives restarts; it belongs to the schedule of this name.";

  static override examples = [
    "<%= config.bin %> schedule pause morning",
    "<%= config.bin %> schedule pause morning --json",
  ];

  static override args = scheduleArgs;
  static override flags = scheduleFlags;

  protected async work({ signal }: Interruption): Promise<ScheduleStatus> {
    const { args, flags } = await this.parse(SchedulePause);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => {
        const { agent, name } = await findSchedule(client, { name: args.name, agent: flags.agent }, signal);
        return client.pauseSchedule(agent, name, { signal });
      },
      flags,
    );
  }

  protected render({ agent, name }: ScheduleStatus): string {
    return `The schedule ${visible(name)} of ${visible(agent)} is paused. \`cairn schedule resume ${visible(name)}\` ends that.`;
  }
}
