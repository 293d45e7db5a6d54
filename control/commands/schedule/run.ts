import type { ScheduleRun as ScheduleRunResult } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { findSchedule, scheduleArgs, scheduleFlags } from "../../schedule/find-schedule.ts";
import { openConnection } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class ScheduleRun extends NodeCommand<ScheduleRunResult> {
  static override description =
    "Start a run of a schedule now, beside its plan\n\n" +
    "Also of one that is paused or disabled. Does not wait for its end: `schedule list` shows the outcome.";

  static override examples = [
    "<%= config.bin %> schedule run morning",
    "<%= config.bin %> schedule run morning --agent main --json",
  ];

  static override args = scheduleArgs;
  static override flags = scheduleFlags;

  protected async work({ signal }: Interruption): Promise<ScheduleRunResult> {
    const { args, flags } = await this.parse(ScheduleRun);
    const connection = await openConnection(findDeployment(flags), signal, flags);
    try {
      const { agent, name } = await findSchedule(connection.client, { name: args.name, agent: flags.agent }, signal);
      return await connection.client.runSchedule(agent, name, { signal });
    } finally {
      await connection.close();
    }
  }

  protected render({ name, turn_id: turnId, started }: ScheduleRunResult): string {
    return started
      ? `A run of ${visible(name)} was started: turn ${visible(turnId)}.`
      : `An earlier run of ${visible(name)} still waits for its session: turn ${visible(turnId)}.`;
  }
}
