import { Args, Flags } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { bytes } from "../../output/words.ts";
import { findDeployment } from "../../service/deployment.ts";
import { saveFromNode, type Written } from "../../service/memory-transfer.ts";

export default class MemoryBackup extends NodeCommand<Written> {
  static override description =
    "Write the whole memory into one archive\n\n" +
    "Either backend can restore it, also of another version. The node may run meanwhile; when none does, one is started for " +
    "the time of the backup. The archive holds everything that was said: keep it like a secret.";

  static override examples = [
    "<%= config.bin %> memory backup cairn-2030-01-31.backup",
    "<%= config.bin %> memory backup - | gzip > cairn.backup.gz",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, required: true, description: "Where to; - is standard output" }),
  };

  static override flags = { force: Flags.boolean({ description: "Replace the file if it is there" }) };

  protected async work({ signal }: Interruption): Promise<Written> {
    const { args, flags } = await this.parse(MemoryBackup);
    const target = { file: args.file, force: flags.force, json: this.jsonEnabled() };
    const work = { deployment: findDeployment(flags), terminal: this.terminal, signal, node: flags.node };
    return saveFromNode(target, work, (client) => client.backup({ signal }));
  }

  protected render(written: Written): string {
    return written.file === "-" ? "" : `Wrote ${written.file}, ${bytes(written.bytes)}.`;
  }
}
