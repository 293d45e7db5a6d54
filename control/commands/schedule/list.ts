import type { ScheduleStatus } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { renderSchedules } from "../../schedule/render-schedules.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface ScheduleListResult {
  readonly schedules: readonly ScheduleStatus[];
}

export default class ScheduleList extends NodeCommand<ScheduleListResult> {
  static override description =
    "List the schedules of all agents: the next run, the last one and what became of it\n\n" +
    "Times are those of each schedule's time zone; with --json they are UTC.";

  static override examples = [
    "<%= config.bin %> schedule list",
    "<%= config.bin %> schedule list --json | jq '.schedules[] | select(.problem != null)'",
  ];

  protected async work({ signal }: Interruption): Promise<ScheduleListResult> {
    const { flags } = await this.parse(ScheduleList);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({ schedules: await client.schedules({ signal }) }),
      flags,
    );
  }

  protected render({ schedules }: ScheduleListResult, mark: Mark): string {
    return renderSchedules(schedules, mark);
  }
}
