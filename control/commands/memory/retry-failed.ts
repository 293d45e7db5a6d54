import { Flags } from "@oclif/core";
import type { RetryResult } from "../../../runtime/client/index.ts";
import { RETRYABLE } from "../../../runtime/contracts/jobs.ts";
import { renderRetry } from "../../memory/render-queues.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MemoryRetryFailed extends NodeCommand<RetryResult> {
  static override description =
    "Queue the failed jobs of a task again\n\n" +
    "Attempts and errors are forgotten. A job whose work has been queued again meanwhile is left as it is.";

  static override examples = [
    "<%= config.bin %> memory retry-failed --task synthesize-tool-call --dry-run",
    "<%= config.bin %> memory retry-failed --task embed --error 'timeout|ECONNREFUSED'",
  ];

  static override flags = {
    task: Flags.option({ options: [...RETRYABLE], required: true, description: "Which jobs" })(),
    error: Flags.string({
      helpValue: "PATTERN",
      description: "Only jobs whose error matches this regular expression (PostgreSQL's), in any case",
    }),
    "dry-run": Flags.boolean({ description: "Only count" }),
  };

  protected async work({ signal }: Interruption): Promise<RetryResult> {
    const { flags } = await this.parse(MemoryRetryFailed);
    const { task, error, "dry-run": dryRun } = flags;
    return withNode(
      findDeployment(flags),
      signal,
      (client) => client.retryFailed(task, { error, dryRun, signal }),
      flags,
    );
  }

  protected render(result: RetryResult): string {
    return renderRetry(result);
  }
}
