import { Flags } from "@oclif/core";
import type { ApprovalPage, PendingApproval, StandingApproval } from "../../../runtime/contracts/approvals.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

type Entry = PendingApproval | StandingApproval;

export default class ApprovalsList extends NodeCommand<ApprovalPage<Entry>> {
  static override description =
    "List the calls of tools that wait for your word, or those that you have approved for good\n\n" +
    "A call is shown whole, and approved or denied by its id; the last eight digits are enough.";

  static override examples = [
    "<%= config.bin %> approvals list",
    "<%= config.bin %> approvals list --standing",
    "<%= config.bin %> approvals list --json | jq -r .approvals[].call",
  ];

  static override flags = {
    standing: Flags.boolean({ description: "Those that run without a question" }),
    limit: Flags.integer({ min: 1, max: 200, default: 50, description: "Entries of a page" }),
    after: Flags.string({ helpValue: "ID", description: "The page after the one that says so" }),
  };

  protected async work({ signal }: Interruption): Promise<ApprovalPage<Entry>> {
    const { flags } = await this.parse(ApprovalsList);
    const query = { limit: flags.limit, after: flags.after };
    return withNode(
      findDeployment(flags),
      signal,
      (client): Promise<ApprovalPage<Entry>> =>
        flags.standing ? client.standingApprovals(query, { signal }) : client.approvals(query, { signal }),
      flags,
    );
  }

  protected render({ approvals, next }: ApprovalPage<Entry>, mark: Mark): string {
    if (approvals.length === 0) return "There are none.";
    const more = next === null ? [] : [mark.dim(`There are more: --after ${next}`)];
    return [...approvals.map((approval) => rendered(approval, mark)), ...more].join("\n\n");
  }
}

function rendered(approval: Entry, mark: Mark): string {
  const { id, agent, tool, call, reason } = approval;
  const since =
    "expires_at" in approval
      ? `${agent} asks to call ${visible(tool)}, until ${approval.expires_at}`
      : `${agent} may call ${visible(tool)}, since ${approval.approved_at} by ${visible(approval.approved_by)}`;
  const lines = visible(call).replaceAll(/^/gm, "    ");
  return `${mark.good(id)}  ${since}\n${lines}\n  ${mark.dim(`because: ${visible(reason)}`)}`;
}
