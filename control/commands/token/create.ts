import { Args, Flags } from "@oclif/core";
import type { TokenGrant } from "../../../runtime/config/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { BUILT_IN } from "../../plugins/built-in.ts";
import { withNode } from "../../service/connect.ts";
import { type Deployment, findDeployment, inspectWithoutSecrets } from "../../service/deployment.ts";
import { expiryOf } from "../../service/token-expiry.ts";

const SCOPES = ["capture", "memory", "agent", "admin"] as const;

export interface TokenCreateResult {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** ISO 8601; null: it does not expire. */
  readonly expires_at: string | null;
  /** Shown only once. */
  readonly token: string;
  /** What it may do with the configuration as it is now; empty where that cannot be read. */
  readonly grants: readonly TokenGrant[];
}

export default class TokenCreate extends NodeCommand<TokenCreateResult> {
  static override description =
    "Create a token for the node's HTTP interface\n\n" +
    "Scopes: capture (write transcripts), memory (search and read), agent (talk to agents), admin (everything else: in what " +
    "it can break it is as good as the owner's, and together with memory it takes the whole memory out). The token is " +
    "printed only once; only its hash is kept. What it may do with the configuration as it is goes to standard error.";

  static override examples = [
    "<%= config.bin %> token create laptop-capture --scope capture",
    "<%= config.bin %> token create website --scope agent --scope memory --json",
    "<%= config.bin %> token create contractor --scope agent --expires 90d",
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
    expires: Flags.string({
      helpValue: "90d|DATE",
      description: "When it stops working: a duration, a day (UTC) or a time; default: never",
    }),
  };

  protected async work({ signal }: Interruption): Promise<TokenCreateResult> {
    const { args, flags } = await this.parse(TokenCreate);
    const scopes = [...new Set(flags.scope)];
    const expiresAt = flags.expires === undefined ? undefined : await expiryOf(flags.expires, new Date());
    const deployment = findDeployment(flags);
    const grants = await grantsOf(deployment, scopes, signal);
    return withNode(
      deployment,
      signal,
      async (client) => {
        const { id, token } = await client.createToken(args.name, scopes, { signal, expiresAt });
        if (!this.jsonEnabled() && grants.length > 0) await this.note(renderGrants(grants));
        return { id, name: args.name, scopes, expires_at: expiresAt?.toISOString() ?? null, token, grants };
      },
      flags,
    );
  }

  protected render({ token }: TokenCreateResult, _mark: Mark): string {
    return token;
  }
}

async function grantsOf(deployment: Deployment, scopes: readonly string[], signal: AbortSignal): Promise<TokenGrant[]> {
  const { tokenGrants } = await import("../../../runtime/config/index.ts");
  const inspection = await inspectWithoutSecrets(deployment, signal).catch(() => null);
  if (!inspection?.loaded) return [];
  const { config, env } = inspection.loaded;
  const tools = BUILT_IN.flatMap(({ kind, name }) => (kind === "tool" ? [name] : []));
  return tokenGrants({ config, scopes, tools, memoryWrite: env["SERVICE_MCP_ENABLE_MEMORY_WRITE"] === "1" });
}

function renderGrants(grants: readonly TokenGrant[]): string {
  const lines = grants.flatMap(({ scope, allows }) => [
    scope === "any" ? "As every token, it may" : `With the scope ${scope} it may`,
    ...allows.map((sentence) => `  - ${sentence}`),
  ]);
  return lines.join("\n");
}
