import { Args, Flags } from "@oclif/core";
import { capturePaths } from "../../../runtime/client/hook/settings.ts";
import { type NamedRotation, rotateNamedToken } from "../../configuration/named-token.ts";
import { type Rotation, rotateOwnerToken } from "../../configuration/owner-token.ts";
import { NodeCommand } from "../../node-command.ts";
import { UsageError } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import { startProgress } from "../../output/progress.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { type Deployment, findDeployment } from "../../service/deployment.ts";
import { expiryOf } from "../../service/token-expiry.ts";

export interface OwnerRotateResult extends Omit<Rotation, "token"> {
  /** Null without --show. */
  readonly token: string | null;
}

export type TokenRotateResult = OwnerRotateResult | NamedRotation;

export default class TokenRotate extends NodeCommand<TokenRotateResult> {
  static override description =
    "Give a token another value: the owner's, or the one that is named\n\n" +
    "Without a name it writes a new SERVICE_API_TOKEN into .env and restarts the node of this machine with it, if one runs: as " +
    "`restart` does, after a trial start, and without losing a turn. The former token is refused from then on; a deployed stack " +
    "keeps it until `infra up`. Where the command is interrupted after it has written, `restart` completes it.\n\n" +
    "With a name the token keeps name, id, scopes and expiry, and its new value is printed, only once. The former one stops " +
    "working within seconds.";

  static override examples = [
    "<%= config.bin %> token rotate",
    "<%= config.bin %> token rotate --show",
    "<%= config.bin %> token rotate website",
    "<%= config.bin %> token rotate contractor --expires 90d",
  ];

  static override args = {
    token: Args.string({
      ignoreStdin: true,
      description: "Name or id of a token, as `token list` shows them; without it the owner's",
    }),
  };

  static override flags = {
    show: Flags.boolean({ description: "Print the owner's new token, which is else only in .env" }),
    expires: Flags.string({
      helpValue: "90d|DATE",
      description: "When the named token stops working: a duration, a day (UTC) or a time; default: as before",
    }),
  };

  protected async work({ signal }: Interruption): Promise<TokenRotateResult> {
    const { args, flags } = await this.parse(TokenRotate);
    const deployment = findDeployment(flags);
    if (args.token !== undefined) {
      if (flags.show)
        throw new UsageError("--show is for the owner's token.", "The value of a named one is always printed.");
      return this.#rotateNamed(deployment, args.token, flags, signal);
    }
    if (flags.expires !== undefined) {
      throw new UsageError("The owner's token does not expire.", "Name the token that --expires is for.");
    }
    if (flags.node !== undefined) {
      throw new UsageError("The owner's token is in .env, and not a node's.", "Name the token that --node is for.");
    }
    const progress = startProgress(this.terminal);
    try {
      const onStep = (step: string): void => progress.update(step);
      const rotation = await rotateOwnerToken(deployment, { signal, onStep });
      return { ...rotation, token: flags.show ? rotation.token : null };
    } finally {
      await progress.end();
    }
  }

  async #rotateNamed(
    deployment: Deployment,
    name: string,
    { expires, node }: { readonly expires?: string | undefined; readonly node?: string | undefined },
    signal: AbortSignal,
  ): Promise<NamedRotation> {
    const expiresAt = expires === undefined ? undefined : await expiryOf(expires, new Date());
    const rotation = await rotateNamedToken(deployment, name, { signal, node, expiresAt });
    if (!this.jsonEnabled()) await this.note(renderHolders(rotation, deployment.home));
    return rotation;
  }

  protected render(result: TokenRotateResult, mark: Mark): string {
    return "file" in result ? renderOwner(result, mark) : result.token;
  }
}

function renderHolders({ name, expires_at: expires, capture }: NamedRotation, home: string): string {
  return [
    `The token ${visible(name)} has another value${expires === null ? "" : ` until ${expires}`}; the former one is refused within seconds.`,
    ...(capture === true ? ["Capture on this machine has the new one."] : []),
    ...(capture === false
      ? [`Capture on this machine may have the former one still: write the new one into ${capturePaths(home).token}.`]
      : []),
  ].join("\n");
}

function renderOwner({ token, file, node, holders }: OwnerRotateResult, mark: Mark): string {
  return [
    `${mark.good("The owner has another token")}: SERVICE_API_TOKEN in ${file}.`,
    node === null
      ? "No node runs on this machine; the next one that starts takes it."
      : `The node was restarted with it (process ${node.pid}, ${node.url}); the former token is refused.`,
    ...holders.map(({ kind, name, command }) =>
      kind === "stack"
        ? `${mark.warn("Note:")} the stack ${visible(name)} has the former one until \`${command}\`, and refuses commands till then.`
        : `${mark.warn("Note:")} capture for ${visible(name)} was given the former one: run \`${command}\`.`,
    ),
    "Programs, terminals and machines that were given the former one need the new one.",
    ...(token === null ? [] : [token]),
  ].join("\n");
}
