import { Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../../deploy/infra-command.ts";
import { upgradePostgres } from "../../../deploy/operations/postgres/upgrade.ts";
import type { PostgresUpgradeResult } from "../../../deploy/schemas.ts";
import { postgresUpgradeText } from "../../../deploy/words.ts";
import { EXIT } from "../../../output/failure.ts";
import type { Interruption } from "../../../output/interruption.ts";
import type { Mark } from "../../../output/terminal.ts";

export default class InfraPostgresUpgrade extends InfraCommand<PostgresUpgradeResult | null> {
  static override description =
    "Move the stack's PostgreSQL to the next major, with its data\n\n" +
    "A backup is taken, a server of the next major is started beside the one that runs, and while the nodes wait the data are " +
    "copied and every row is compared; then cairn.yaml and the stack switch to it. Whatever fails before that leaves the former " +
    "server as it was. Its data stay until you remove them.";

  static override examples = ["<%= config.bin %> infra postgres upgrade --to pgvector/pgvector:0.8.1-pg18"];

  static override flags = {
    to: Flags.string({
      helpValue: "IMAGE",
      description: "Image of the next major (default: deployment.datahub.image)",
    }),
    yes: yesFlag,
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<PostgresUpgradeResult | null> {
    const { flags } = await this.parse(InfraPostgresUpgrade);
    const { to: image, yes } = flags;
    return this.operate(flags, interruption, (run) => upgradePostgres(run, { image, yes }));
  }

  protected override exitCodeOf(result: PostgresUpgradeResult | null): number {
    return result === null ? EXIT.failed : EXIT.done;
  }

  protected render(result: PostgresUpgradeResult | null, mark: Mark): string {
    return result === null ? "Nothing was changed." : postgresUpgradeText(result, mark);
  }
}
