import { Args, Flags } from "@oclif/core";
import type { DecidedApproval } from "../../../runtime/contracts/approvals.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class ApprovalsApprove extends NodeCommand<DecidedApproval> {
  static override description =
    "Let an agent make the call that waits for your word\n\nIt counts once, for exactly the call that `approvals list` shows.";

  static override examples = [
    "<%= config.bin %> approvals approve 5f3a91c2",
    "<%= config.bin %> approvals approve 5f3a91c2 --always",
  ];

  static override args = {
    id: Args.string({ ignoreStdin: true, required: true, description: "Its id, or the last eight digits" }),
  };

  static override flags = {
    always: Flags.boolean({ description: "Do not ask about exactly this call again" }),
  };

  protected async work({ signal }: Interruption): Promise<DecidedApproval> {
    const { args, flags } = await this.parse(ApprovalsApprove);
    const decision = { decision: "approve", always: flags.always } as const;
    return withNode(findDeployment(flags), signal, (client) => client.decide(args.id, decision, { signal }), flags);
  }

  protected render({ agent, tool, always }: DecidedApproval): string {
    const more = always ? " It is not asked about again." : "";
    return `The call of ${visible(tool)} by ${agent} is approved.${more}`;
  }
}
