import { Flags } from "@oclif/core";
import { backendFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { render } from "../../deploy/operations/render.ts";
import type { RenderResult } from "../../deploy/schemas.ts";
import { renderText } from "../../deploy/words.ts";
import type { Interruption } from "../../output/interruption.ts";

export default class InfraRender extends InfraCommand<RenderResult> {
  static override description =
    "Write the Pulumi project into infra/\n\n" +
    "The other commands do it themselves. Files that were changed by hand are kept, unless --force is given. `pulumi up` in " +
    "that folder does what `infra up` does, without its precautions; the README there tells how.";

  static override examples = ["<%= config.bin %> infra render", "<%= config.bin %> infra render --force"];

  static override flags = {
    force: Flags.boolean({ description: "Replace what was changed by hand; a copy of it is kept" }),
    backend: backendFlag,
  };

  protected async work(interruption: Interruption): Promise<RenderResult> {
    const { flags } = await this.parse(InfraRender);
    return this.operate(flags, interruption, (run) => render(run, { force: flags.force }));
  }

  protected render(result: RenderResult): string {
    return renderText(result);
  }
}
