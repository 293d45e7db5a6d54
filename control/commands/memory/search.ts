import { Args, Flags } from "@oclif/core";
import type { MemoryHit } from "../../../runtime/contracts/memory.ts";
import { type Answered, renderAnswered, renderHits } from "../../memory/render-hits.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

/** What the tool `memory_search` returns. */
export interface SearchResult extends Answered {
  readonly query: string;
  readonly mode: string;
  readonly results: readonly MemoryHit[];
  /** What was left out of the search. */
  readonly notice?: string;
  readonly took_ms: number;
}

export default class MemorySearch extends NodeCommand<SearchResult> {
  static override description =
    "Search everything that was said\n\n" +
    "Messages and summaries of all conversations, best first; `cairn memory show ID` shows one with what stands around it. " +
    "Each hit of --json carries the parts of its score. " +
    "With --synthesize the language model of memory.summarizer answers from them.";

  static override examples = [
    "<%= config.bin %> memory search 'which port did we choose'",
    "<%= config.bin %> memory search 'why did we leave the old host' --synthesize",
    "<%= config.bin %> memory search node-3 --mode trigram --window last_7d",
    "<%= config.bin %> memory search 'deploy(ed|ing)' --mode regex --limit 50 --json",
  ];

  static override args = {
    query: Args.string({ ignoreStdin: true, required: true, description: "What to look for" }),
  };

  static override flags = {
    mode: Flags.option({
      options: ["hybrid", "fts", "trigram", "regex", "vector"] as const,
      description: "How to look (default: hybrid)",
    })(),
    scope: Flags.option({
      options: ["both", "messages", "summaries"] as const,
      description: "Where to look (default: both)",
    })(),
    limit: Flags.integer({ char: "n", min: 1, max: 50, description: "Number of hits (default: 10)" }),
    agent: Flags.string({ helpValue: "NAME", description: "Only conversations with this agent" }),
    since: Flags.string({ helpValue: "TIME", description: "From this ISO 8601 date or time on" }),
    before: Flags.string({ helpValue: "TIME", description: "Before this ISO 8601 date or time" }),
    window: Flags.option({
      options: ["today", "yesterday", "this_morning", "this_week", "last_24h", "last_7d", "last_14d"] as const,
      exclusive: ["since", "before"],
      description: "Only this time",
    })(),
    synthesize: Flags.boolean({ description: "Also have the language model answer from the hits" }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<SearchResult> {
    const { args, flags } = await this.parse(MemorySearch);
    const { mode, scope, limit, agent, since, before, window } = flags;
    const synthesize = flags.synthesize || undefined;
    const given = { query: args.query, mode, scope, limit, agent, since, before, window, synthesize };
    const wanted = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const found = await withNode(
      findDeployment(flags),
      signal,
      (client) => client.memoryTool<SearchResult>("memory_search", wanted, { signal }),
      { node: flags.node },
    );
    if (found.notice !== undefined && !this.jsonEnabled()) {
      await this.note(this.terminal.errMark.warn(`! ${visible(found.notice)} \`cairn logs --grep embed\` says why.`));
    }
    return found;
  }

  protected render(found: SearchResult, mark: Mark): string {
    const { results, answer, answer_missing: missing } = found;
    if (results.length === 0) return "Nothing was found.";
    if (answer !== undefined) return renderAnswered({ answer }, results, mark, found);
    return missing === undefined
      ? renderHits(results, mark, found)
      : renderAnswered({ answer_missing: missing }, results, mark, found);
  }
}
