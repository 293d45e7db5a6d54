import { Flags } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { bytes } from "../../output/words.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

/** What the tool `memory_stats` returns. */
export interface StatsResult {
  readonly messages: { readonly total: number; readonly embedded: number; readonly coverage: number };
  readonly embedding_queue_depth: number;
  /** Null: none is configured. An older node does not say. */
  readonly embedding_model?: string | null;
  readonly unsummarized: { readonly total: number; readonly conversations_over_threshold: number };
  readonly summaries: Readonly<Record<"leaf" | "branch" | "root" | "max_depth", number>>;
  readonly compaction: { readonly last_run_at: string | null; readonly last_error: string | null };
  readonly queues: readonly { readonly queue: string; readonly waiting: number; readonly failed: number }[];
  readonly database: { readonly backend: string; readonly schema_version: number | null; readonly size_bytes: number };
}

export default class MemoryStats extends NodeCommand<StatsResult> {
  static override description = "Show how much the memory holds and how far its background work is";

  static override examples = ["<%= config.bin %> memory stats", "<%= config.bin %> memory stats --agent main --json"];

  static override flags = { agent: Flags.string({ helpValue: "NAME", description: "Only messages of this agent" }) };

  protected async work({ signal }: Interruption): Promise<StatsResult> {
    const { flags } = await this.parse(MemoryStats);
    const wanted = flags.agent === undefined ? {} : { agent: flags.agent };
    return withNode(
      findDeployment(flags),
      signal,
      (client) => client.memoryTool<StatsResult>("memory_stats", wanted, { signal }),
      { node: flags.node },
    );
  }

  protected render(stats: StatsResult, mark: Mark): string {
    const { messages, unsummarized, summaries, compaction, database, queues } = stats;
    const busy = queues.filter(({ waiting, failed }) => waiting > 0 || failed > 0);
    const rows = [
      ["messages", `${messages.total}, ${unsummarized.total} not summarized`],
      ["embeddings", vectorsIn(stats)],
      ["summaries", `${summaries.leaf} leaves, ${summaries.branch} branches, ${summaries.root} roots`],
      [
        "compaction",
        compaction.last_error ?? (compaction.last_run_at ? `last ${compaction.last_run_at}` : "never ran"),
      ],
      [
        "database",
        `${database.backend}, schema ${database.schema_version ?? "unknown"}, ${bytes(database.size_bytes)}`,
      ],
      ...busy.map(({ queue, waiting, failed }) => ["queue", `${queue}: ${waiting} waiting, ${failed} failed`]),
    ];
    return columns(rows.map(([name = "", text = ""]) => [mark.dim(name), text]));
  }
}

function vectorsIn({ embedding_model: model, messages, embedding_queue_depth: waiting }: StatsResult): string {
  if (model === null) return "search by meaning is off: no embedding model is configured (docs/models.md)";
  return `${Math.round(messages.coverage * 100)} %, ${waiting} waiting${model === undefined ? "" : ` (${model})`}`;
}
