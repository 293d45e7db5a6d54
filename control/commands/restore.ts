import { Args, Flags } from "@oclif/core";
import { readPassphrase } from "../backup/passphrase.ts";
import { renderRestore } from "../backup/render.ts";
import { checkRestore } from "../backup/restore/check.ts";
import { type RestoreResult, restoreBackup } from "../backup/restore/restore.ts";
import { BaseCommand } from "../base-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";
import { newestMigration } from "../service/schema-version.ts";

export default class Restore extends BaseCommand<RestoreResult> {
  static override summary = "Make a deployment from a file of `backup`, in an empty directory";

  static override description =
    "Into the directory that --dir names, else into the default one, with the memory in the store that the backup's configuration " +
    "names: both must be empty. All of it or nothing: what is filled has its name at the end, and the same command goes on where it was " +
    "killed. Of a deployed stack the operator's directory is restored, and what its nodes had is kept in backups/.";

  static override examples = [
    "<%= config.bin %> restore cairn.tar.age --check",
    "<%= config.bin %> restore cairn.tar.age",
    "<%= config.bin %> restore cairn.tar.age --dir /srv/cairn --passphrase-file ~/.cairn-passphrase",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, required: true, description: "File of `backup`" }),
  };

  static override flags = {
    "passphrase-file": Flags.string({
      helpValue: "FILE",
      description: "Its first line is the passphrase; - is standard input (default: asked for on a terminal)",
    }),
    check: Flags.boolean({ description: "Say what it would do and what is in the way, and change nothing" }),
  };

  protected async work({ signal }: Interruption): Promise<RestoreResult> {
    const { args, flags } = await this.parse(Restore);
    const deployment = findDeployment(flags);
    const passphrase = await readPassphrase({
      file: flags["passphrase-file"],
      terminal: this.terminal,
      isNew: false,
      signal,
      note: (text) => this.note(text),
    });
    const schema = await newestMigration(this.config.root);
    const progress = startProgress(this.terminal);
    const options = { passphrase, schema, signal, onStep: (text: string) => progress.update(text) };
    try {
      const run = flags.check ? checkRestore : restoreBackup;
      return await run(args.file, deployment, options);
    } finally {
      await progress.end();
    }
  }

  protected override exitCodeOf({ outcome }: RestoreResult): number {
    return outcome === "blocked" ? EXIT.failed : EXIT.done;
  }

  protected render(result: RestoreResult, mark: Mark): string {
    return renderRestore(result, mark);
  }
}
