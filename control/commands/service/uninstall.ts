import { homedir } from "node:os";
import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";
import { type ServiceResult, uninstallService } from "../../service-manager/install.ts";
import { serviceName } from "../../service-manager/service-name.ts";

export default class ServiceUninstall extends BaseCommand<ServiceResult> {
  static override description =
    "Remove the node's service from systemd (or launchd on macOS)\n\n" +
    "Stops the service, which drains, and removes its unit. The deployment and its data stay as they are. A service of another " +
    "deployment directory is left alone.";

  static override examples = ["<%= config.bin %> service uninstall", "<%= config.bin %> service uninstall --user"];

  static override flags = {
    name: Flags.string({ default: "cairn", helpValue: "NAME", description: "Name of the service" }),
    system: Flags.boolean({ description: "The whole machine's service (default for root)", exclusive: ["user"] }),
    user: Flags.boolean({ description: "A service of your own (default for others)", exclusive: ["system"] }),
  };

  protected async work({ signal }: Interruption): Promise<ServiceResult> {
    const { flags } = await this.parse(ServiceUninstall);
    const uid = process.getuid?.() ?? 0;
    const scope = flags.user || (!flags.system && uid !== 0) ? "user" : "system";
    const machine = { platform: process.platform, uid, home: homedir(), configHome: process.env["XDG_CONFIG_HOME"] };
    // Where no directory is named and none is here, the name alone says which service is meant.
    const { dir, exists } = findDeployment(flags);
    const meant = flags.dir !== undefined || exists ? dir : undefined;
    return uninstallService({ name: serviceName(flags.name), scope, dir: meant }, machine, { signal });
  }

  protected render(result: ServiceResult, mark: Mark): string {
    if (!result.changed) return `There is no service ${result.name} (${result.file}).`;
    return `${mark.good("Removed")} ${result.file}. The deployment and its data stay.`;
  }
}
