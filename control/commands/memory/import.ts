import { Args, Flags } from "@oclif/core";
import { importExport, type PassedOver, SERVICES } from "../../memory/importing/import.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { findDeployment } from "../../service/deployment.ts";
import { sendToNode } from "../../service/memory-transfer.ts";

export interface ImportResult extends PassedOver {
  readonly file: string;
  readonly imported: number;
  /** Messages that were there already. */
  readonly skipped: number;
}

export default class MemoryImport extends NodeCommand<ImportResult> {
  static override description =
    "Import messages from JSON lines, or from ChatGPT or Claude\n\n" +
    "The lines are those of `memory export`; --from takes the file conversations.json of another service's data export. Messages " +
    "that are there already are skipped, so that a repeat does no harm. " +
    "Lines of this service's agents' own sessions are imported with the owner's token only.";

  static override examples = [
    "<%= config.bin %> memory import messages.jsonl",
    "jq -c 'select(.agent == \"main\")' messages.jsonl | <%= config.bin %> memory import -",
    "unzip -p export.zip 'conversations*.json' | <%= config.bin %> memory import --from chatgpt -",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, required: true, description: "File to import; - is standard input" }),
  };

  static override flags = {
    from: Flags.option({ options: SERVICES, description: "Service whose data export the file is of" })(),
  };

  protected async work({ signal }: Interruption): Promise<ImportResult> {
    const { args, flags } = await this.parse(MemoryImport);
    const work = { deployment: findDeployment(flags), terminal: this.terminal, signal, node: flags.node };
    const counts = await sendToNode(args.file, work, (client, bytes) => {
      const take = (lines: AsyncIterable<Uint8Array>) => client.importJsonl(lines, { signal });
      return flags.from === undefined ? take(bytes) : importExport(flags.from, bytes, take);
    });
    return { file: args.file, ignored: 0, unreadable: 0, ...counts };
  }

  protected render({ imported, skipped, ignored, unreadable }: ImportResult): string {
    const lines = [
      `Imported ${imported} ${imported === 1 ? "message" : "messages"}, skipped ${skipped} that were there already.`,
    ];
    if (ignored > 0) {
      lines.push(`Not taken: ${ignored} messages that are hidden, of tools, or of branches that were given up.`);
    }
    if (unreadable > 0) lines.push(`Not read: ${unreadable} conversations, which are not written as the others are.`);
    return lines.join("\n");
  }
}
