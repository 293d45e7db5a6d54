import { BaseCommand } from "../../base-command.ts";
import { revokeAccess } from "../../capture/access.ts";
import { harnessArgument } from "../../capture/harness-argument.ts";
import { type InstallResult, isUnused, removeAccess, uninstallHarness } from "../../capture/install.ts";
import { capturePlaces } from "../../capture/places.ts";
import { renderUninstall } from "../../capture/render.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface CaptureUninstallResult extends InstallResult {
  /** The hook's token, once no assistant uses it any more. */
  readonly token_revoked: boolean;
}

export default class CaptureUninstall extends BaseCommand<CaptureUninstallResult> {
  static override description =
    "Remove the hook from a coding assistant's settings\n\n" +
    "Removes what `capture install` wrote and nothing else. When no assistant has the hook any more, its token is revoked. " +
    "What was captured stays.";

  static override examples = ["<%= config.bin %> capture uninstall claude-code"];

  static override args = { harness: harnessArgument({ required: true }) };

  protected async work({ signal }: Interruption): Promise<CaptureUninstallResult> {
    const { args, flags } = await this.parse(CaptureUninstall);
    const deployment = findDeployment(flags);
    const places = capturePlaces(deployment.home, this.config.root);
    const result = await uninstallHarness(args.harness, places);
    const unused = result.changed && (await isUnused(places));
    const revoked = unused && (await revokeAccess(deployment, signal));
    if (unused) await removeAccess(deployment.home);
    return { ...result, token_revoked: revoked };
  }

  protected render(result: CaptureUninstallResult, mark: Mark): string {
    return renderUninstall(result, mark);
  }
}
