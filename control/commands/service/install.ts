import { homedir } from "node:os";
import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";
import { describeService } from "../../service-manager/describe.ts";
import { installService, type ServiceResult } from "../../service-manager/install.ts";
import { serviceName } from "../../service-manager/service-name.ts";

export default class ServiceInstall extends BaseCommand<ServiceResult> {
  static override description =
    "Let systemd (or launchd on macOS) run the node\n\n" +
    "Writes a unit for this deployment directory, enables it and starts it: the node comes back after a crash and a reboot. " +
    "Its stop timeout lies above the drain deadline. As root the whole machine's service, else one of your own.";

  static override examples = [
    "<%= config.bin %> service install",
    "<%= config.bin %> service install --user --no-start",
    "<%= config.bin %> service install --system --run-as cairn --dir /srv/cairn",
  ];

  static override flags = {
    name: Flags.string({ default: "cairn", helpValue: "NAME", description: "Name of the service" }),
    system: Flags.boolean({ description: "A service of the whole machine (default for root)", exclusive: ["user"] }),
    user: Flags.boolean({ description: "A service of your own (default for others)", exclusive: ["system"] }),
    "run-as": Flags.string({
      helpValue: "USER",
      description: "Who runs the machine's service (default: the owner of the deployment directory)",
      exclusive: ["user"],
    }),
    start: Flags.boolean({ default: true, allowNo: true, description: "Start it now" }),
  };

  protected async work({ signal }: Interruption): Promise<ServiceResult> {
    const { flags } = await this.parse(ServiceInstall);
    const uid = process.getuid?.() ?? 0;
    const scope = flags.user || (!flags.system && uid !== 0) ? "user" : "system";
    const request = { name: serviceName(flags.name), scope, user: flags["run-as"] } as const;
    const service = await describeService(findDeployment(flags), request, signal);
    const machine = { platform: process.platform, uid, home: homedir(), configHome: process.env["XDG_CONFIG_HOME"] };
    return installService(service, machine, { start: flags.start, signal });
  }

  protected render(result: ServiceResult, mark: Mark): string {
    const linger =
      result.scope === "user" && result.manager === "systemd"
        ? [`${mark.warn("Note:")} it ends with your last session unless you run \`loginctl enable-linger\`.`]
        : [];
    return [
      `${mark.good(result.changed ? "Installed" : "Installed already:")} ${result.file}`,
      result.started ? "The service was started." : "It starts with the machine; nothing was started now.",
      ...linger,
      `Look at it with: ${mark.name(result.inspect)}`,
    ].join("\n");
  }
}
