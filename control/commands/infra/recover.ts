import { Flags } from "@oclif/core";
import { eventsFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { recover } from "../../deploy/operations/recover.ts";
import type { RecoverResult } from "../../deploy/schemas.ts";
import { recoverText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraRecover extends InfraCommand<RecoverResult> {
  static override description =
    "Deploy the stack anew over its data, when its recorded state cannot be used any more\n\n" +
    "For a passphrase that is lost, or a state that no copy can replace. What was recorded is put aside in infra/lost, what runs is " +
    "removed from the target, and the stack is deployed with a new passphrase over the data that stand there. No data are removed. " +
    "Every node stops for that time, so the stack's name is typed. Interrupted, the same command goes on.";

  static override examples = ["<%= config.bin %> infra recover", "<%= config.bin %> infra recover --confirm my-stack"];

  static override flags = {
    confirm: Flags.string({ helpValue: "NAME", description: "The stack's name, where there is no terminal to ask at" }),
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<RecoverResult> {
    const { flags } = await this.parse(InfraRecover);
    return this.operate(flags, interruption, (run) => recover(run, { confirm: flags.confirm }));
  }

  protected override exitCodeOf(result: RecoverResult): number {
    return result.healthy ? EXIT.done : EXIT.failed;
  }

  protected render(result: RecoverResult, mark: Mark): string {
    return recoverText(result, mark);
  }
}
