import { Args } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { type MoveResult, moveMemory } from "../../memory/move/move.ts";
import { BACKENDS, type Backend } from "../../memory/move/plan.ts";
import { rowsOf } from "../../memory/row-words.ts";
import type { Interruption } from "../../output/interruption.ts";
import { startProgress } from "../../output/progress.ts";
import { columns } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

const NAMES: Readonly<Record<Backend, string>> = { postgres: "PostgreSQL", embedded: "the embedded store" };

export default class MemoryMove extends BaseCommand<MoveResult> {
  static override description =
    "Move the memory between the embedded store and PostgreSQL\n\n" +
    "Row for row: messages, summaries, vectors, attachments, what was forgotten, API tokens. The target must be empty, and the " +
    "node must not run. What was moved is compared; only then does cairn.yaml name the target. The source is only read. Where it is " +
    "interrupted, the configuration that was there still works, and the same command goes on. Turns that were open come back " +
    "as interrupted, answers that were not delivered yet as failed.";

  static override examples = [
    "<%= config.bin %> memory move postgres",
    "<%= config.bin %> memory move embedded --json",
  ];

  static override args = {
    to: Args.custom<Backend>({ options: [...BACKENDS] })({
      ignoreStdin: true,
      required: true,
      description: "Where to; for postgres its address is SERVICE_PG_URL in .env",
    }),
  };

  protected async work({ signal }: Interruption): Promise<MoveResult> {
    const { args, flags } = await this.parse(MemoryMove);
    const progress = startProgress(this.terminal);
    try {
      return await moveMemory(findDeployment(flags), args.to, { signal, onStep: (text) => progress.update(text) });
    } finally {
      await progress.end();
    }
  }

  protected render({ outcome, to, counts, former_store: former }: MoveResult): string {
    if (outcome === "nothing") return `The memory is in ${NAMES[to]} already, and there is nothing to move.`;
    return [
      `The memory is in ${NAMES[to]} now, and was compared with the source:`,
      columns(rowsOf(counts), "  "),
      former === null
        ? "The database that it was in still has all of it. When all is well, drop it, and remove SERVICE_PG_URL from .env."
        : `The former store is ${former}. When all is well, delete it.`,
      "Next: `cairn start --detach`",
    ].join("\n");
  }
}
