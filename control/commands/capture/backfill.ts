import { Args } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { type BackfillResult, backfill } from "../../capture/deliver.ts";
import { HARNESSES } from "../../capture/harnesses.ts";
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

  static override args = {
    harness: Args.string({
      ignoreStdin: true,
      required: true,
      options: [...HARNESSES],
      description: "The coding assistant",
    }),
  };

  protected async work({ signal }: Interruption): Promise<BackfillResult> {
    const { args, flags } = await this.parse(CaptureBackfill);
    const { home } = findDeployment(flags);
    const { machine } = capturePlaces(home, this.config.root);
    const harness = HARNESSES.find((name) => name === args.harness) ?? "claude-code";
    return backfill(harness, { home, machine, signal, onLine: (line) => void this.note(line) });
  }

  protected render(result: BackfillResult, mark: Mark): string {
    return renderBackfill(result, mark);
  }

  protected override exitCodeOf({ failed }: BackfillResult): number {
    return failed.length === 0 ? EXIT.done : EXIT.failed;
  }
}
