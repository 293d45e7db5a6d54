import { backendFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { status } from "../../deploy/operations/status.ts";
import type { StatusResult } from "../../deploy/schemas.ts";
import { statusText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraStatus extends InfraCommand<StatusResult> {
  static override description =
    "Show every part of the stack and how it is\n\n" +
    "Looks at the target itself: database, network, volumes, and each node with its image, version and health, since when it runs " +
    "and how often it was started again. The exit code is 0 when every part is there and healthy, else 1.";

  static override examples = ["<%= config.bin %> infra status", "<%= config.bin %> infra status --json"];

  static override flags = { backend: backendFlag };

  protected async work(interruption: Interruption): Promise<StatusResult> {
    const { flags } = await this.parse(InfraStatus);
    return this.operate(flags, interruption, (run) => status(run));
  }

  protected override exitCodeOf({ healthy }: StatusResult): number {
    return healthy ? EXIT.done : EXIT.failed;
  }

  protected render(result: StatusResult, mark: Mark): string {
    return statusText(result, mark);
  }
}
