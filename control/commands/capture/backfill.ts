import { BaseCommand } from "../../base-command.ts";
import { type BackfillResult, backfill } from "../../capture/deliver.ts";
import { harnessArgument } from "../../capture/harness-argument.ts";
import { capturePlaces } from "../../capture/places.ts";
import { renderBackfill } from "../../capture/render.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class CaptureBackfill extends BaseCommand<BackfillResult> {
  static override description =
    "Bring a coding assistant's older sessions into the memory\n\n" +
    "Reads all sessions that it still has on this machine. It can be repeated and interrupted: what the memory has already is " +
    "not stored twice.";

  static override examples = ["<%= config.bin %> capture backfill claude-code"];

  static override args = { harness: harnessArgument({ required: true }) };

  protected async work({ signal }: Interruption): Promise<BackfillResult> {
    const { args, flags } = await this.parse(CaptureBackfill);
    const { home } = findDeployment(flags);
    const { machine } = capturePlaces(home, this.config.root);
    return backfill(args.harness, { home, machine, signal, onLine: (line) => void this.note(line) });
  }

  protected render(result: BackfillResult, mark: Mark): string {
    return renderBackfill(result, mark);
  }

  protected override exitCodeOf({ failed }: BackfillResult): number {
    return failed.length === 0 ? EXIT.done : EXIT.failed;
  }
}
