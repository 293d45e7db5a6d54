import { Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../deploy/infra-command.ts";
import { destroy } from "../../deploy/operations/destroy.ts";
import type { DestroyResult } from "../../deploy/schemas.ts";
import { destroyText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraDestroy extends InfraCommand<DestroyResult | null> {
  static override description =
    "Remove what `infra up` made, and keep the data\n\n" +
    "Home volumes, workspaces, shared storage and the database stay on the target; a later `infra up` takes them up again. With " +
    "--delete-data they go too, for good: the stack's name has to be typed, and a backup of the memory is taken first.";

  static override examples = [
    "<%= config.bin %> infra destroy",
    "<%= config.bin %> infra destroy --yes --json",
    "<%= config.bin %> infra destroy --delete-data",
  ];

  static override flags = {
    yes: yesFlag,
    "delete-data": Flags.boolean({ description: "Delete the data as well, after a backup" }),
    confirm: Flags.string({
      helpValue: "NAME",
      description: "The stack's name, for --delete-data without a terminal: no other question follows",
    }),
    "backup-taken": Flags.string({
      helpValue: "FILE",
      description: "With --delete-data: a backup of the last 24 hours, instead of taking one now",
    }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<DestroyResult | null> {
    const { flags } = await this.parse(InfraDestroy);
    const { confirm, "delete-data": deleteData, "backup-taken": backupTaken } = flags;
    // Who types the name has agreed.
    const yes = flags.yes || confirm !== undefined;
    return this.operate(flags, interruption, (run) => destroy(run, { yes, confirm, deleteData, backupTaken }));
  }

  protected override exitCodeOf(result: DestroyResult | null): number {
    return result === null ? EXIT.failed : EXIT.done;
  }

  protected render(result: DestroyResult | null, mark: Mark): string {
    return result === null ? "Nothing was removed." : destroyText(result, mark);
  }
}
