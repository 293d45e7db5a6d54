import { Flags } from "@oclif/core";
import type { UsageReport } from "../../runtime/client/index.ts";
import { parseSince } from "../logs/log-filter.ts";
import { NodeCommand } from "../node-command.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { withNode } from "../service/connect.ts";
import { findDeployment } from "../service/deployment.ts";
import { renderUsage } from "../usage/render-usage.ts";

const KEYS = ["day", "agent", "provider", "model"] as const;

export default class Usage extends NodeCommand<UsageReport> {
  static override description =
    "Show what the calls of models have used: tokens, and money where providers have prices\n\n" +
    "Days are those of runtime.timezone. Money counts by providers.<id>.prices as they were when a call was made.";

  static override examples = [
    "<%= config.bin %> usage",
    "<%= config.bin %> usage --since 7d --by model",
    "<%= config.bin %> usage --by agent --json | jq .total.cost_usd",
  ];

  static override flags = {
    since: Flags.string({
      helpValue: "TIME",
      default: "30d",
      description: "From this day on: 7d, 4w, or 2030-01-31",
    }),
    by: Flags.option({ options: KEYS, default: "day" as const, description: "What a line is about" })(),
  };

  protected async work({ signal }: Interruption): Promise<UsageReport> {
    const { flags } = await this.parse(Usage);
    const from = parseSince(flags.since, new Date()).toISOString().slice(0, 10);
    const query = { from, by: flags.by };
    return withNode(findDeployment(flags), signal, (client) => client.usage(query, { signal }), flags);
  }

  protected render(report: UsageReport, mark: Mark): string {
    return renderUsage(report, mark);
  }
}
