import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { type FlushResult, flush } from "../../capture/deliver.ts";
import { renderFlush } from "../../capture/render.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class CaptureFlush extends BaseCommand<FlushResult> {
  static override description =
    "Deliver the captured batches that wait in the spool\n\n" +
    "Hooks do that themselves, 50 files at a time; this delivers all of them, oldest first.";

  static override examples = ["<%= config.bin %> capture flush", "<%= config.bin %> capture flush --dead"];

  static override flags = {
    dead: Flags.boolean({ description: "Try once more what the node has refused" }),
  };

  protected async work({ signal }: Interruption): Promise<FlushResult> {
    const { flags } = await this.parse(CaptureFlush);
    const { home } = findDeployment(flags);
    return flush(home, { dead: flags.dead, signal, onLine: (line) => void this.note(line) });
  }

  protected render(result: FlushResult, mark: Mark): string {
    return renderFlush(result, mark);
  }

  protected override exitCodeOf({ waiting, dead }: FlushResult): number {
    return waiting + dead === 0 ? EXIT.done : EXIT.failed;
  }
}
