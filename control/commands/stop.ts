import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { deployedNames } from "../service/deployed-node.ts";
import { drainDeadlineMs, findDeployment } from "../service/deployment.ts";
import { type StopResult, stopDeadlineMs, stopNode } from "../service/stop-node.ts";

export default class Stop extends BaseCommand<StopResult> {
  static override description =
    "Stops the node. It takes no new turns, lets active ones end until the drain deadline and keeps what is queued.\n\n" +
    "A node that is not running is no error.";

  static override summary = "Stop the node";

  static override examples = ["<%= config.bin %> stop", "<%= config.bin %> stop --timeout 10 --force"];

  static override flags = {
    timeout: Flags.integer({
      min: 0,
      helpValue: "SECONDS",
      description: "How long to wait (default: the drain deadline and 30 s)",
    }),
    force: Flags.boolean({ description: "Kill the node when it has not ended by then" }),
  };

  protected async work({ signal }: Interruption): Promise<StopResult> {
    const { flags } = await this.parse(Stop);
    const deployment = findDeployment(flags);
    const deadlineMs =
      flags.timeout === undefined ? stopDeadlineMs(await drainDeadlineMs(deployment)) : flags.timeout * 1_000;
    const progress = startProgress(this.terminal);
    try {
      const result = await stopNode(deployment.home, {
        deadlineMs,
        force: flags.force,
        signal,
        onWait: (waitedMs) => {
          if (waitedMs >= 1_000) progress.update(`Waiting for the node to end: ${Math.floor(waitedMs / 1_000)} s`);
        },
      });
      const elsewhere = result.was_running ? null : await deployedNames(deployment.dir);
      if (elsewhere !== null) await this.note(`This directory is deployed on ${elsewhere}; nothing was stopped there.`);
      return result;
    } finally {
      await progress.end();
    }
  }

  protected render({ was_running, pid, killed }: StopResult, mark: Mark): string {
    if (!was_running) return "No node is running.";
    return killed ? mark.warn(`The node (process ${pid}) was killed.`) : `The node (process ${pid}) has stopped.`;
  }
}
