import { Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { refresh } from "../../deploy/operations/refresh.ts";
import type { RefreshResult } from "../../deploy/schemas.ts";
import { refreshText } from "../../deploy/words.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraRefresh extends InfraCommand<RefreshResult> {
  static override description =
    "Compare what is recorded with what is there\n\n" +
    "Records what it finds, so that the next `infra up` starts from it; the target itself is not changed. With --preview it only " +
    "shows what has drifted.";

  static override examples = ["<%= config.bin %> infra refresh --preview", "<%= config.bin %> infra refresh --json"];

  static override flags = {
    preview: Flags.boolean({ description: "Show the drift and record nothing" }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<RefreshResult> {
    const { flags } = await this.parse(InfraRefresh);
    return this.operate(flags, interruption, (run) => refresh(run, { preview: flags.preview }));
  }

  protected render(result: RefreshResult, mark: Mark): string {
    return refreshText(result, mark);
  }
}
