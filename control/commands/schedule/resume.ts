import type { ScheduleStatus } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { findSchedule, scheduleArgs, scheduleFlags } from "../../schedule/find-schedule.ts";
import { timeIn } from "../../schedule/render-schedules.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class ScheduleResume extends NodeCommand<ScheduleStatus> {
  static override description = "End the pause of a schedule\n\nWhat was planned meanwhile is not made up for.";

  static override examples = [
    "<%= config.bin %> schedule resume morning",
    "<%= config.bin %> schedule resume morning --json",
  ];

  static override args = scheduleArgs;
  static override flags = scheduleFlags;

  protected async work({ signal }: Interruption): Promise<ScheduleStatus> {
    const { args, flags } = await this.parse(ScheduleResume);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => {
        const { agent, name } = await findSchedule(client, { name: args.name, agent: flags.agent }, signal);
        return client.resumeSchedule(agent, name, { signal });
      },
      flags,
    );
  }

  protected render({ agent, name, timezone, next_at: next }: ScheduleStatus): string {
    const after =
      next === null
        ? "It is disabled in cairn.yaml."
        : `Its next run is at ${timeIn(next, timezone)} ${visible(timezone)}.`;
    return `The schedule ${visible(name)} of ${visible(agent)} is not paused. ${after}`;
  }
}
