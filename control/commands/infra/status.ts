import { backendFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { status } from "../../deploy/operations/status.ts";
import type { StatusResult } from "../../deploy/schemas.ts";
import { statusText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraStatus extends InfraCommand<StatusResult> {
  static override description =
    "Show what is deployed and how it is\n\nLooks at the target itself. The exit code is 0 when every node is healthy, else 1.";

  static override examples = ["<%= config.bin %> infra status", "<%= config.bin %> infra status --json"];

  static override flags = { backend: backendFlag };

  protected async work(interruption: Interruption): Promise<StatusResult> {
    const { flags } = await this.parse(InfraStatus);
    return this.operate(flags, interruption, (run) => status(run));
  }

  protected override exitCodeOf({ deployed, nodes }: StatusResult): number {
    return deployed && nodes.every(({ health }) => health === "healthy") ? EXIT.done : EXIT.failed;
  }

  protected render(result: StatusResult, mark: Mark): string {
    return statusText(result, mark);
  }
}
