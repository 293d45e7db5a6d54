import { Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand } from "../../deploy/infra-command.ts";
import { unlock } from "../../deploy/operations/unlock.ts";
import type { UnlockResult } from "../../deploy/schemas.ts";
import { unlockText } from "../../deploy/words.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraUnlock extends InfraCommand<UnlockResult> {
  static override description =
    "Remove the lock of a run that was killed, and record what it had created\n\n" +
    "A holder that is still at work is left alone. What was being created when it was killed is looked for on the target: what " +
    "exists is recorded, so that nothing is made twice. Afterwards the interrupted command can be run again, and finishes.";

  static override examples = [
    "<%= config.bin %> infra unlock",
    "<%= config.bin %> infra unlock --force my-stack",
    "<%= config.bin %> infra unlock --restore-state",
  ];

  static override flags = {
    force: Flags.string({
      helpValue: "NAME",
      description: "The stack's name: treat a holder on another host as dead",
    }),
    "restore-state": Flags.boolean({ description: "Put the newest readable copy of the state back" }),
    copy: Flags.string({ helpValue: "COPY", description: "With --restore-state: this file of infra/state-copies" }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<UnlockResult> {
    const { flags } = await this.parse(InfraUnlock);
    const { force, copy, "restore-state": restoreState } = flags;
    return this.operate(flags, interruption, (run) => unlock(run, { force, copy, restoreState }));
  }

  protected render(result: UnlockResult, mark: Mark): string {
    return unlockText(result, mark);
  }
}
