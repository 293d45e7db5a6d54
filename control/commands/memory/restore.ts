import { Args } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";
import { refuseLiveNode, sendToNode } from "../../service/memory-transfer.ts";

export interface RestoreResult {
  readonly file: string;
  /** Restored records, by kind. */
  readonly counts: Readonly<Record<string, number>>;
}

export default class MemoryRestore extends BaseCommand<RestoreResult> {
  static override description =
    "Restore an archive into an empty memory\n\n" +
    "All of it or nothing. The node must not run, and the memory must be empty. Turns that were queued or running when the " +
    "backup was made come back as interrupted.";

  static override examples = [
    "<%= config.bin %> memory restore cairn-2030-01-31.backup",
    "gunzip < cairn.backup.gz | <%= config.bin %> memory restore -",
  ];

  static override args = {
    file: Args.string({
      ignoreStdin: true,
      required: true,
      description: "Archive of `memory backup`; - is standard input",
    }),
  };

  protected async work({ signal }: Interruption): Promise<RestoreResult> {
    const { args, flags } = await this.parse(MemoryRestore);
    const deployment = findDeployment(flags);
    await refuseLiveNode(deployment);
    const work = { deployment, terminal: this.terminal, signal };
    const { counts } = await sendToNode(args.file, work, (client, bytes) => client.restore(bytes, { signal }));
    return { file: args.file, counts };
  }

  protected render({ file, counts }: RestoreResult): string {
    const rows = Object.entries(counts).map(([kind, count]) => [kind, String(count)]);
    return `Restored ${file === "-" ? "the archive" : file}:\n${columns(rows, "  ")}`;
  }
}
