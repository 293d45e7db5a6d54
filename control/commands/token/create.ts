import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

const SCOPES = ["capture", "memory", "agent", "admin"] as const;

export interface TokenCreateResult {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Shown this once. */
  readonly token: string;
}

export default class TokenCreate extends BaseCommand<TokenCreateResult> {
  static override description =
    "Create a token for the node's HTTP interface\n\n" +
    "Scopes: capture (write transcripts), memory (search and read), agent (talk to agents), admin (everything else). The " +
    "token is printed this once; only its hash is kept.";

  static override examples = [
    "<%= config.bin %> token create laptop-capture --scope capture",
    "<%= config.bin %> token create website --scope agent --scope memory --json",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "What the token is for" }),
  };

  static override flags = {
    scope: Flags.option({
      options: SCOPES,
      multiple: true,
      multipleNonGreedy: true,
      required: true,
      description: "What the token may do; can be given more than once",
    })(),
  };

  protected async work({ signal }: Interruption): Promise<TokenCreateResult> {
    const { args, flags } = await this.parse(TokenCreate);
    const scopes = [...new Set(flags.scope)];
    return withNode(findDeployment(flags), signal, async (client) => {
      const { id, token } = await client.createToken(args.name, scopes, { signal });
      return { id, name: args.name, scopes, token };
    });
  }

  protected render({ token }: TokenCreateResult, _mark: Mark): string {
    return token;
  }
}
