import { Args, Flags } from "@oclif/core";
import type { RestoreReport } from "../../../runtime/client/index.ts";
import { renderObstacles } from "../../backup/render.ts";
import { checkMemoryRestore, type RestoreCheck, type RestoreCheckOptions } from "../../memory/check-restore.ts";
import { rowsOf } from "../../memory/row-words.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import { startProgress } from "../../output/progress.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { type Deployment, findDeployment } from "../../service/deployment.ts";
import { refuseLiveNode, sendToNode } from "../../service/memory-transfer.ts";
import { newestMigration } from "../../service/schema-version.ts";

export interface RestoreResult extends RestoreReport {
  readonly file: string;
}

type Outcome = RestoreResult | RestoreCheck;

export default class MemoryRestore extends NodeCommand<Outcome> {
  static override description =
    "Restore an archive into an empty memory\n\n" +
    "All of it or nothing. The node must not run, and the memory must be empty. Turns that were queued or running when the " +
    "backup was made come back as interrupted. API tokens stay out unless --with-tokens is given: one that was revoked after the " +
    "backup would work again, and a forged archive could bring its own.";

  static override examples = [
    "<%= config.bin %> memory restore cairn-2030-01-31.backup",
    "<%= config.bin %> memory restore cairn-2030-01-31.backup --with-tokens",
    "<%= config.bin %> memory restore cairn-2030-01-31.backup --check",
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
    check: Flags.boolean({
      exclusive: ["with-tokens"],
      description: "Read the archive to its end, say what is in the way, and change nothing",
    }),
  };

  protected async work({ signal }: Interruption): Promise<Outcome> {
    const { args, flags } = await this.parse(MemoryRestore);
    const deployment = findDeployment(flags);
    if (flags.check) return this.#check(args.file, deployment, { node: flags.node, signal });
    await refuseLiveNode(deployment);
    const work = { deployment, terminal: this.terminal, signal, node: flags.node };
    const given = { signal, tokens: flags["with-tokens"] };
    const report = await sendToNode(args.file, work, (client, bytes) => client.restore(bytes, given));
    return { file: args.file, ...report };
  }

  async #check(file: string, deployment: Deployment, given: Pick<RestoreCheckOptions, "node" | "signal">) {
    const progress = startProgress(this.terminal);
    const schema = await newestMigration(this.config.root);
    try {
      return await checkMemoryRestore(file, deployment, { ...given, schema, onStep: (text) => progress.update(text) });
    } finally {
      await progress.end();
    }
  }

  protected override exitCodeOf(outcome: Outcome): number {
    return "check" in outcome && outcome.check.obstacles.length > 0 ? EXIT.failed : EXIT.done;
  }

  protected render(outcome: Outcome, mark: Mark): string {
    return "check" in outcome ? renderCheck(outcome, mark) : this.#restored(outcome, mark);
  }

  #restored({ file, counts, tokens }: RestoreResult, mark: Mark): string {
    return [
      `Restored ${file === "-" ? "the archive" : file}:`,
      columns(rowsOf(counts), "  "),
      ...renderTokens(tokens, mark),
      "What was forgotten after this archive was made is in it again: `cairn memory forget` has to be repeated for it.",
    ].join("\n");
  }
}

function renderCheck({ file, counts, check }: RestoreCheck, mark: Mark): string {
  const { created_at, version, schema_version, obstacles } = check;
  return [
    `${visible(file)} is whole, made ${created_at} by version ${version}, schema ${schema_version}:`,
    columns(rowsOf(counts), "  "),
    ...renderObstacles(obstacles, mark),
  ].join("\n");
}

function renderTokens({ left_out: leftOut, restored }: RestoreResult["tokens"], mark: Mark): string[] {
  const rows = restored.map(({ name, scopes, revoked }) => [visible(name), revoked ? "revoked" : scopes.join(", ")]);
  const missing = leftOut === 1 ? "1 API token" : `${leftOut} API tokens`;
  return [
    ...(rows.length > 0 ? ["API tokens, and what they may do:", columns(rows, "  ")] : []),
    ...(leftOut > 0 ? [`${mark.warn("Left out:")} ${missing}. \`cairn token create\` makes new ones.`] : []),
  ];
}
