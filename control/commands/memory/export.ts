import { Args, Flags } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { bytes } from "../../output/words.ts";
import { findDeployment } from "../../service/deployment.ts";
import { saveFromNode, type Written } from "../../service/memory-transfer.ts";

export default class MemoryExport extends NodeCommand<Written> {
  static override description =
    "Write the messages as JSON lines, oldest first\n\n" +
    "For other programs, and for `memory import`. A backup holds more: conversations, summaries, attachments.";

  static override examples = [
    "<%= config.bin %> memory export messages.jsonl",
    "<%= config.bin %> memory export --format jsonl | jq -r .content",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, default: "-", description: "Where to; - is standard output" }),
  };

  static override flags = {
    format: Flags.option({ options: ["jsonl"] as const, default: "jsonl", description: "Format of the file" })(),
    force: Flags.boolean({ description: "Replace the file if it is there" }),
  };

  protected async work({ signal }: Interruption): Promise<Written> {
    const { args, flags } = await this.parse(MemoryExport);
    const target = { file: args.file, force: flags.force, json: this.jsonEnabled() };
    const work = { deployment: findDeployment(flags), terminal: this.terminal, signal, node: flags.node };
    return saveFromNode(target, work, (client) => client.exportJsonl({ signal }));
  }

  protected render(written: Written): string {
    return written.file === "-" ? "" : `Wrote ${written.file}, ${bytes(written.bytes)}.`;
  }
}
