import { BaseCommand } from "../../base-command.ts";
import { type CaptureStatus, captureStatus } from "../../capture/install.ts";
import { capturePlaces } from "../../capture/places.ts";
import { renderStatus } from "../../capture/render.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class CaptureStatusCommand extends BaseCommand<CaptureStatus> {
  static override description = "Which coding assistants' sessions are captured, and what waits to be delivered";

  static override examples = ["<%= config.bin %> capture status", "<%= config.bin %> capture status --json"];

  protected async work(_interruption: Interruption): Promise<CaptureStatus> {
    const { flags } = await this.parse(CaptureStatusCommand);
    return captureStatus(capturePlaces(findDeployment(flags).home, this.config.root));
  }

  protected render(result: CaptureStatus, mark: Mark): string {
    return renderStatus(result, mark);
  }
}
