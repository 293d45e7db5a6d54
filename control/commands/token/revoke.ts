import { Args } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface TokenRevokeResult {
  readonly id: string;
  readonly name: string;
  readonly revoked: true;
}

export default class TokenRevoke extends NodeCommand<TokenRevokeResult> {
  static override description =
    "Revoke a token\n\nIt stops working within seconds. It stays in the list, marked as revoked.";

  static override examples = [
    "<%= config.bin %> token revoke laptop-capture",
    "<%= config.bin %> token revoke 0199b6a2-7f4e-7c53-9d55-2b2f5d3c1a10",
  ];

  static override args = {
    token: Args.string({
      ignoreStdin: true,
      required: true,
      description: "Name or id of the token, as `token list` shows them",
    }),
  };

  protected async work({ signal }: Interruption): Promise<TokenRevokeResult> {
    const { args, flags } = await this.parse(TokenRevoke);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => {
        const { id, name } = await client.revokeToken(args.token, { signal });
        return { id, name, revoked: true as const };
      },
      flags,
    );
  }

  protected render({ id, name }: TokenRevokeResult): string {
    return `The token ${visible(name)} (${id}) is revoked.`;
  }
}
