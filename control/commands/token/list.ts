import type { TokenRecord } from "../../../runtime/client/index.ts";
import { isActive } from "../../../runtime/contracts/tokens.ts";
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
  static override description =
    "List the tokens of the node's HTTP interface, without their values\n\n" +
    "With the time of their last use, to the minute; the owner's token is SERVICE_API_TOKEN, and not among them.";

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
    const head = ["ID", "NAME", "SCOPES", "CREATED", "LAST USED", "STATE"];
    const rows = tokens.map((token) => [
      token.id,
      visible(token.name),
      token.scopes.join(","),
      token.created_at,
      token.last_used_at ?? "never",
      stateOf(token, mark),
    ]);
    return columns([head, ...rows]);
  }
}

function stateOf(token: TokenRecord, mark: Mark): string {
  const { revoked_at: revoked, expires_at: expires } = token;
  if (revoked !== null) return mark.dim(`revoked ${revoked}`);
  if (!expires) return mark.good("active");
  return isActive(token, new Date()) ? mark.good(`active until ${expires}`) : mark.error(`expired ${expires}`);
}
