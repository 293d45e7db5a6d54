import process from "node:process";
import { Flags } from "@oclif/core";
import { eventsFlag, InfraCommand } from "../deploy/infra-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";
import { updateText } from "../update/render.ts";
import { exitCodeOfUpdate, type UpdateResult } from "../update/result.ts";
import { update } from "../update/update.ts";

export default class Update extends InfraCommand<UpdateResult> {
  static override description =
    "Bring the nodes to another version, and back if they do not pass\n\n" +
    "A node that runs from a source tree goes to the newest release, or to --version: it is fetched and built beside the old one, " +
    "which runs on meanwhile; then the node is restarted and tested. With --prebuilt the build comes as an archive. Nodes that were deployed get an image of that build, or the one " +
    "of --prebuilt, one after the other. Where the test fails, the former version comes back. Exit codes: 0 done, 1 failed (nothing was changed, " +
    "or it was rolled back), 3 locked, 4 needs an operator.";

  static override examples = [
    "<%= config.bin %> update",
    "<%= config.bin %> update --version 1.4.0 --no-restart",
    "<%= config.bin %> update --prebuilt https://downloads.example.org/cairn-1.4.0.tgz",
    "<%= config.bin %> update --prebuilt registry.example.org/team/cairn@sha256:0123... --json",
  ];

  static override flags = {
    version: Flags.string({
      helpValue: "VERSION",
      exclusive: ["prebuilt"],
      description: "Release to go to (default: the newest; a pre-release only by its name)",
    }),
    prebuilt: Flags.string({
      helpValue: "IMAGE|FILE|URL",
      description:
        "For a deployed node an image: a name, repository@sha256:..., or an archive of `docker image save`. Else a built program: " +
        "an archive of `npm pack`, as a file or an https address, with its checksum beside it in <archive>.sha256",
    }),
    checksum: Flags.string({
      helpValue: "SHA256",
      dependsOn: ["prebuilt"],
      description: "Checksum of the archive, where none stands beside it",
    }),
    restart: Flags.boolean({ default: true, allowNo: true, description: "Restart the node now" }),
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<UpdateResult> {
    const { flags } = await this.parse(Update);
    const deployment = findDeployment(flags);
    const { version, prebuilt, checksum, restart } = flags;
    return this.operate(flags, interruption, (run) => {
      const report = (message: string): void => {
        run.onEvent({ schema: 1, event: "phase", time: new Date().toISOString(), phase: "update", message });
      };
      const { hold } = interruption;
      return update(run, { deployment, root: this.config.root, version, prebuilt, checksum, restart, report, hold });
    });
  }

  protected override exitCodeOf(result: UpdateResult): number {
    return exitCodeOfUpdate(result);
  }

  protected override async catch(error: Error): Promise<void> {
    await super.catch(error);
    if ("code" in error && error.code === "INFRA_LOCKED") process.exitCode = EXIT.locked;
  }

  protected render(result: UpdateResult, mark: Mark): string {
    return updateText(result, mark);
  }
}
