import { Args, Flags } from "@oclif/core";
import type { RestoreReport } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";
import { refuseLiveNode, sendToNode } from "../../service/memory-transfer.ts";

export interface RestoreResult extends RestoreReport {
  readonly file: string;
}

export default class MemoryRestore extends NodeCommand<RestoreResult> {
  static override description =
    "Restore an archive into an empty memory\n\n" +
    "All of it or nothing. The node must not run, and the memory must be empty. Turns that were queued or running when the " +
    "backup was made come back as interrupted. API tokens stay out unless --with-tokens is given: one that was revoked after the " +
    "backup would work again, and a forged archive could bring its own.";

  static override examples = [
    "<%= config.bin %> memory restore cairn-2030-01-31.backup",
    "<%= config.bin %> memory restore cairn-2030-01-31.backup --with-tokens",
    "gunzip < cairn.backup.gz | <%= config.bin %> memory restore -",
  ];

  static override args = {
    file: Args.string({
      ignoreStdin: true,
      required: true,
      description: "Archive of `memory backup`; - is standard input",
    }),
  };

  static override flags = {
    "with-tokens": Flags.boolean({ description: "Restore the archive's API tokens too; revoked ones stay revoked" }),
  };

  protected async work({ signal }: Interruption): Promise<RestoreResult> {
    const { args, flags } = await this.parse(MemoryRestore);
    const deployment = findDeployment(flags);
    await refuseLiveNode(deployment);
    const work = { deployment, terminal: this.terminal, signal, node: flags.node };
    const given = { signal, tokens: flags["with-tokens"] };
    const report = await sendToNode(args.file, work, (client, bytes) => client.restore(bytes, given));
    return { file: args.file, ...report };
  }

  protected render({ file, counts, tokens }: RestoreResult, mark: Mark): string {
    const rows = Object.entries(counts).map(([kind, count]) => [kind, String(count)]);
    return [
      `Restored ${file === "-" ? "the archive" : file}:`,
      columns(rows, "  "),
      ...renderTokens(tokens, mark),
      "What was forgotten after this archive was made is in it again: `cairn memory forget` has to be repeated for it.",
    ].join("\n");
  }
}

function renderTokens({ left_out: leftOut, restored }: RestoreResult["tokens"], mark: Mark): string[] {
  const rows = restored.map(({ name, scopes, revoked }) => [visible(name), revoked ? "revoked" : scopes.join(", ")]);
  const missing = leftOut === 1 ? "1 API token" : `${leftOut} API tokens`;
  return [
    ...(rows.length > 0 ? ["API tokens, and what they may do:", columns(rows, "  ")] : []),
    ...(leftOut > 0 ? [`${mark.warn("Left out:")} ${missing}. \`cairn token create\` makes new ones.`] : []),
  ];
}
