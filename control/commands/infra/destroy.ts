import { Flags } from "@oclif/core";
import { readPassphrase } from "../../backup/passphrase.ts";
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
    "--delete-data they go too, for good: the stack's name has to be typed, and a backup of the memory is taken first. Of a stack " +
    "that is removed already no backup can be taken: --backup-taken names one, or --without-backup gives up what the data hold.";

  static override examples = [
    "<%= config.bin %> infra destroy",
    "<%= config.bin %> infra destroy --yes --json",
    "<%= config.bin %> infra destroy --delete-data",
    "<%= config.bin %> infra destroy --delete-data --backup-taken backups/cairn.tar.age",
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
      description:
        "With --delete-data: a file of `backup` or `memory backup` of the last 24 hours, instead of taking one now",
    }),
    "passphrase-file": Flags.string({
      helpValue: "FILE",
      dependsOn: ["backup-taken"],
      description:
        "Passphrase of a sealed backup, its first line; - is standard input (default: asked for on a terminal)",
    }),
    "without-backup": Flags.boolean({
      description: "With --delete-data, of a stack that is removed already: delete its data without any backup",
    }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<DestroyResult | null> {
    const { flags } = await this.parse(InfraDestroy);
    const { confirm, "delete-data": deleteData, "backup-taken": taken, "without-backup": withoutBackup } = flags;
    const file = flags["passphrase-file"];
    const note = (text: string) => this.note(text);
    const passphrase = (signal: AbortSignal) =>
      readPassphrase({ file, terminal: this.terminal, isNew: false, signal, note });
    const backupTaken = taken === undefined ? undefined : { file: taken, passphrase };
    // Who types the name has agreed.
    const yes = flags.yes || confirm !== undefined;
    return this.operate(flags, interruption, (run) =>
      destroy(run, { yes, confirm, deleteData, backupTaken, withoutBackup }),
    );
  }

  protected override exitCodeOf(result: DestroyResult | null): number {
    return result === null ? EXIT.failed : EXIT.done;
  }

  protected render(result: DestroyResult | null, mark: Mark): string {
    return result === null ? "Nothing was removed." : destroyText(result, mark);
  }
}
