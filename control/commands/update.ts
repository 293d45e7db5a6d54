import process from "node:process";
import { Flags } from "@oclif/core";
import { SUPPORTED_SKEW } from "../../runtime/contracts/version-skew.ts";
import { eventsFlag, InfraCommand } from "../deploy/infra-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";
import { historyOfFleet, planFleet } from "../update/fleet-overview.ts";
import { historyText, planText, updateText } from "../update/render.ts";
import { exitCodeOfUpdate, type UpdateHistory, type UpdatePlan, type UpdateResult } from "../update/result.ts";
import { update } from "../update/update.ts";

type Result = UpdateResult | UpdatePlan | UpdateHistory;

/** Only with --mesh. */
const inMesh = { dependsOn: ["mesh"] };

export default class Update extends InfraCommand<Result> {
  static override description =
    "Bring the nodes to another version, and back if they do not pass\n\n" +
    "A node that runs from a source tree goes to the newest release, or to --version: it is fetched and built beside the old one, " +
    "which runs on meanwhile; then the node is restarted and tested. With --prebuilt the build comes as an archive. Nodes that were deployed get an image of that build, or the one " +
    `of --prebuilt, one after the other. Where the test fails, the former version comes back. ${SUPPORTED_SKEW} Over more, nothing is changed.\n\n` +
    "--mesh does that for nodes that share a database, from whatever machine: one command line at a time has the right to it, each node " +
    "is drained before it stops and watched after its test, and what was interrupted goes on with --resume. Exit codes: 0 done, 1 failed " +
    "(nothing was changed, or it was rolled back), 3 locked, 4 needs an operator, or was cut off.";

  static override examples = [
    "<%= config.bin %> update",
    "<%= config.bin %> update --version 1.4.0 --no-restart",
    "<%= config.bin %> update --prebuilt https://downloads.example.org/cairn-1.4.0.tgz",
    "<%= config.bin %> update --prebuilt registry.example.org/team/cairn@sha256:0123... --json",
    "<%= config.bin %> update --mesh --dry-run",
    "<%= config.bin %> update --mesh --canary node-2 --on-failure pause",
    "<%= config.bin %> update --mesh --resume",
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
    mesh: Flags.boolean({ description: "All nodes of a fleet, through the database that they share" }),
    canary: Flags.string({
      ...inMesh,
      helpValue: "NODE",
      description: "Change this node first (default: one that is down, or has the fewest agents)",
    }),
    "max-unavailable": Flags.integer({
      ...inMesh,
      min: 1,
      helpValue: "COUNT",
      description: "Nodes that may be out of service at once, after the first (default: 1)",
    }),
    "on-failure": Flags.option({
      ...inMesh,
      options: ["rollback", "pause"] as const,
      description:
        "What becomes of nodes that passed before another one failed: they go back as well (default: rollback), or keep the new version",
    })(),
    resume: Flags.boolean({
      ...inMesh,
      exclusive: ["version", "prebuilt", "canary", "max-unavailable", "on-failure"],
      description: "Go on with a rollout that was interrupted, also from another machine",
    }),
    "dry-run": Flags.boolean({
      ...inMesh,
      description: "Show the order, each step and what would be in the way",
    }),
    history: Flags.boolean({
      ...inMesh,
      exclusive: ["version", "prebuilt", "restart", "canary", "max-unavailable", "on-failure", "resume", "dry-run"],
      description: "Show the last rollouts, newest first",
    }),
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<Result> {
    const { flags } = await this.parse(Update);
    const deployment = findDeployment(flags);
    const { version, prebuilt, checksum, restart, resume = false, canary } = flags;
    const { "max-unavailable": maxUnavailable = 1, "on-failure": onFailure = "rollback" } = flags;
    const mesh = flags.mesh ? { resume, canary, maxUnavailable, onFailure } : undefined;
    return this.operate<Result>(flags, interruption, (run) => {
      const report = (message: string): void => {
        run.onEvent({ schema: 1, event: "phase", time: new Date().toISOString(), phase: "update", message });
      };
      const { hold } = interruption;
      const { root } = this.config;
      if (flags.history) return historyOfFleet(run, { deployment, report });
      if (flags["dry-run"] && mesh !== undefined)
        return planFleet(run, { deployment, root, version, prebuilt, checksum, restart, mesh, report });
      return update(run, { deployment, root, version, prebuilt, checksum, restart, mesh, report, hold });
    });
  }

  protected override exitCodeOf(result: Result): number {
    if ("rollouts" in result || result.outcome === "planned") return 0;
    return exitCodeOfUpdate(result);
  }

  protected override async catch(error: Error): Promise<void> {
    await super.catch(error);
    if (!("code" in error)) return;
    if (error.code === "INFRA_LOCKED") process.exitCode = EXIT.locked;
    if (error.code === "INFRA_INTERRUPTED") process.exitCode = EXIT.operator;
  }

  protected render(result: Result, mark: Mark): string {
    if ("rollouts" in result) return historyText(result, mark);
    return result.outcome === "planned" ? planText(result, mark) : updateText(result, mark);
  }
}
