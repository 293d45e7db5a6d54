import type { QueueStatus } from "../../../runtime/client/index.ts";
import { renderQueues } from "../../memory/render-queues.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface QueueStatusResult {
  readonly queues: readonly QueueStatus[];
}

export default class MemoryQueueStatus extends NodeCommand<QueueStatusResult> {
  static override description =
    "Show the background work of the memory: every job queue, and why jobs have failed\n\n" +
    "Failed jobs have used up their attempts. They stay until `memory retry-failed` lets them wait again.";

  static override examples = [
    "<%= config.bin %> memory queue-status",
    "<%= config.bin %> memory queue-status --json | jq '.queues[] | select(.failed > 0)'",
  ];

  protected async work({ signal }: Interruption): Promise<QueueStatusResult> {
    const { flags } = await this.parse(MemoryQueueStatus);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({
        queues: await client.queueStatus({ signal }),
      }),
      flags,
    );
  }

  protected render({ queues }: QueueStatusResult, mark: Mark): string {
    return renderQueues(queues, mark);
  }
}
