import { Args, Flags } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { bytes } from "../../output/words.ts";
import { findDeployment } from "../../service/deployment.ts";
import { saveFromNode, type Written } from "../../service/memory-transfer.ts";
import { nodeWithBackup } from "../../service/scheduled-backups.ts";

export default class MemoryBackup extends NodeCommand<Written> {
  static override description =
    "Write the whole memory into one archive\n\n" +
    "Either backend can restore it, also of another version. The node may run meanwhile; when none does, one is started for " +
    "the time of the backup. With --from it is one that the nodes took on schedule. The archive holds everything that was said: keep it like a secret. " +
    "cairn.yaml, .env and the workspace are not in it.";

  static override examples = [
    "<%= config.bin %> memory backup cairn-2030-01-31.backup",
    "<%= config.bin %> memory backup here.backup --from cairn-20300131T020000Z.backup",
    "<%= config.bin %> memory backup - | gzip > cairn.backup.gz",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, required: true, description: "Where to; - is standard output" }),
  };

  static override flags = {
    force: Flags.boolean({ description: "Replace the file if it is there" }),
    from: Flags.string({ helpValue: "NAME", description: "A scheduled backup, as `memory backups` names it" }),
  };

  protected async work({ signal }: Interruption): Promise<Written> {
    const { args, flags } = await this.parse(MemoryBackup);
    const target = { file: args.file, force: flags.force, json: this.jsonEnabled() };
    const deployment = findDeployment(flags);
    const work = { deployment, terminal: this.terminal, signal };
    const { from: name, node } = flags;
    if (name === undefined) return saveFromNode(target, { ...work, node }, (client) => client.backup({ signal }));
    const having = await nodeWithBackup(deployment, signal, { name, node });
    return saveFromNode(target, { ...work, node: having }, (client) => client.scheduledBackup(name, { signal }));
  }

  protected render(written: Written): string {
    return written.file === "-" ? "" : `Wrote ${written.file}, ${bytes(written.bytes)}.`;
  }
}
