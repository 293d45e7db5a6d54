/** What commands that change cairn.yaml share: `--dry-run`, and how the change is shown. */

import { Flags } from "@oclif/core";
import { BaseCommand } from "./base-command.ts";
import { type RenderedEdit, renderEdit } from "./output/render-edit.ts";
import type { Mark } from "./output/terminal.ts";
import { applyCommand } from "./service/deployed-node.ts";
import { type Deployment, findDeployment } from "./service/deployment.ts";

export const DRY_RUN = Flags.boolean({ description: "Show what would change, and change nothing" });

export abstract class EditCommand<Result> extends BaseCommand<Result> {
  protected dryRun = false;
  #apply = "";

  /** Before the work: `rendered` shows the change as of these flags and this deployment. */
  protected async beginEdit(
    flags: Parameters<typeof findDeployment>[0] & { readonly "dry-run": boolean },
  ): Promise<Deployment> {
    this.dryRun = flags["dry-run"];
    const deployment = findDeployment(flags);
    this.#apply = await applyCommand(deployment);
    return deployment;
  }

  /** `done`: the change in words. */
  protected rendered(edit: RenderedEdit, done: string, mark: Mark): string {
    return renderEdit(edit, done, mark, { dryRun: this.dryRun, apply: this.#apply });
  }
}
