import { Args, Flags } from "@oclif/core";
import { type BackupResult, createBackup, verifyBackup } from "../backup/backup.ts";
import { readPassphrase } from "../backup/passphrase.ts";
import { renderBackup } from "../backup/render.ts";
import { BaseCommand } from "../base-command.ts";
import { UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";

export default class Backup extends BaseCommand<BackupResult> {
  static override summary = "Write the whole deployment into one file, sealed by a passphrase";

  static override description =
    "The memory, cairn.yaml and what it refers to beside it, the workspaces and the secrets: `.env`, the node's key, tokens and " +
    "logins. Of a deployed stack also the homes and workspaces of its nodes. The node may run meanwhile; when none does, one is " +
    "started for the time of the backup. It is read back before it has its name. `restore` makes the deployment from it; without " +
    "the passphrase nothing does.";

  static override examples = [
    "<%= config.bin %> backup",
    "<%= config.bin %> backup /mnt/disk/cairn.tar.age --passphrase-file ~/.cairn-passphrase",
    "<%= config.bin %> backup --verify /mnt/disk/cairn.tar.age",
  ];

  static override args = {
    file: Args.string({
      ignoreStdin: true,
      description: "Where to (default: backups/cairn-TIME.tar.age of the deployment directory)",
    }),
  };

  static override flags = {
    "passphrase-file": Flags.string({
      helpValue: "FILE",
      description: "Its first line is the passphrase; - is standard input (default: asked for on a terminal)",
    }),
    verify: Flags.boolean({ description: "Read the file to its end, and compare every length and hash" }),
    force: Flags.boolean({ exclusive: ["verify"], description: "Replace the file if it is there" }),
  };

  protected async work({ signal }: Interruption): Promise<BackupResult> {
    const { args, flags } = await this.parse(Backup);
    const { file } = args;
    if (flags.verify && file === undefined)
      throw new UsageError("--verify needs the file.", "Name it: `cairn backup --verify FILE`.");
    const deployment = findDeployment(flags);
    const passphrase = await readPassphrase({
      file: flags["passphrase-file"],
      terminal: this.terminal,
      isNew: !flags.verify,
      signal,
      note: (text) => this.note(text),
    });
    const progress = startProgress(this.terminal);
    const options = { passphrase, signal, onStep: (text: string) => progress.update(text) };
    try {
      if (flags.verify && file !== undefined) return await verifyBackup(file, options);
      const { version } = this.config;
      return await createBackup(deployment, { ...options, file, force: flags.force, version });
    } finally {
      await progress.end();
    }
  }

  protected render(result: BackupResult, mark: Mark): string {
    return renderBackup(result, mark);
  }
}
