import type { TokenRecord } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface TokenListResult {
  readonly tokens: readonly TokenRecord[];
}

export default class TokenList extends NodeCommand<TokenListResult> {
  static override description = "List the tokens of the node's HTTP interface, without their values";

  static override examples = ["<%= config.bin %> token list", "<%= config.bin %> token list --json"];

  protected async work({ signal }: Interruption): Promise<TokenListResult> {
    const { flags } = await this.parse(TokenList);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({ tokens: await client.listTokens({ signal }) }),
      flags,
    );
  }

  protected render({ tokens }: TokenListResult, mark: Mark): string {
    if (tokens.length === 0) return "There are no tokens beside the owner's.";
    const head = ["ID", "NAME", "SCOPES", "CREATED", "STATE"];
    const rows = tokens.map(({ id, name, scopes, created_at, revoked_at }) => [
      id,
      visible(name),
      scopes.join(","),
      created_at,
      revoked_at === null ? mark.good("active") : mark.dim(`revoked ${revoked_at}`),
    ]);
    return columns([head, ...rows]);
  }
}
