import { backendFlag, eventsFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { preview } from "../../deploy/operations/preview.ts";
import type { PreviewResult } from "../../deploy/schemas.ts";
import { previewText } from "../../deploy/words.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraPreview extends InfraCommand<PreviewResult> {
  static override description =
    "Show what `infra up` would change\n\nChanges nothing. Secrets are shown as [redacted]. With --json the result is a document " +
    "of docs/schemas/infra-preview.schema.json.";

  static override examples = [
    "<%= config.bin %> infra preview",
    "<%= config.bin %> infra preview --json | jq .summary",
  ];

  static override flags = { backend: backendFlag, "json-events": eventsFlag };

  protected async work(interruption: Interruption): Promise<PreviewResult> {
    const { flags } = await this.parse(InfraPreview);
    return this.operate(flags, interruption, (run) => preview(run));
  }

  protected render(result: PreviewResult, mark: Mark): string {
    return previewText(result, mark);
  }
}
