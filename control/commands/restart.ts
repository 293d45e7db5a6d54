import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";
import { prepare } from "../service/launch.ts";
import { renderStarted, renderWarnings } from "../service/render-started.ts";
import type { RestartResult } from "../service-manager/restart-kept.ts";
import { restartRehearsed } from "../service-manager/restart-rehearsed.ts";

export default class Restart extends BaseCommand<RestartResult> {
  static override description =
    "Stop the node, if one runs, and start it in the background\n\n" +
    "A changed configuration takes effect. It is tried first, beside the node that runs: an invalid one, a certificate or a port " +
    "that cannot be used, and a database that cannot be reached leave that node untouched. Where the " +
    "unit of `service install` runs the node, systemd restarts it, and its stop timeout counts.";

  static override examples = ["<%= config.bin %> restart", "<%= config.bin %> restart --timeout 10 --force"];

  static override flags = {
    timeout: Flags.integer({
      min: 0,
      helpValue: "SECONDS",
      description: "How long to wait for its end (default: the drain deadline and 30 s)",
    }),
    force: Flags.boolean({ description: "Kill the node when it has not ended by then" }),
  };

  protected async work({ signal }: Interruption): Promise<RestartResult> {
    const { flags } = await this.parse(Restart);
    const prepared = await prepare(findDeployment(flags), signal);
    for (const line of renderWarnings(prepared.warnings, this.terminal.errMark)) await this.note(line);
    const progress = startProgress(this.terminal);
    try {
      return await restartRehearsed(prepared, {
        signal,
        deadlineMs: flags.timeout === undefined ? undefined : flags.timeout * 1_000,
        force: flags.force,
        onStep: (step) => progress.step(step),
      });
    } finally {
      await progress.end();
    }
  }

  protected render(result: RestartResult, mark: Mark): string {
    return renderStarted(result, mark);
  }
}
