import { Args } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { findDeployment } from "../../service/deployment.ts";
import { sendToNode } from "../../service/memory-transfer.ts";

export interface ImportResult {
  readonly file: string;
  readonly imported: number;
  /** Messages that were there already. */
  readonly skipped: number;
}

export default class MemoryImport extends NodeCommand<ImportResult> {
  static override description =
    "Import messages from JSON lines\n\n" +
    "The lines are those of `memory export`. Messages that are there already are skipped, so that a repeat does no harm. " +
    "Lines of this service's agents' own sessions are imported with the owner's token only.";

  static override examples = [
    "<%= config.bin %> memory import messages.jsonl",
    "jq -c 'select(.agent == \"main\")' messages.jsonl | <%= config.bin %> memory import -",
  ];

  static override args = {
    file: Args.string({ ignoreStdin: true, required: true, description: "File with JSON lines; - is standard input" }),
  };

  protected async work({ signal }: Interruption): Promise<ImportResult> {
    const { args, flags } = await this.parse(MemoryImport);
    const work = { deployment: findDeployment(flags), terminal: this.terminal, signal, node: flags.node };
    const counts = await sendToNode(args.file, work, (client, bytes) => client.importJsonl(bytes, { signal }));
    return { file: args.file, ...counts };
  }

  protected render({ imported, skipped }: ImportResult): string {
    return `Imported ${imported} messages, skipped ${skipped} that were there already.`;
  }
}
