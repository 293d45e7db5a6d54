/** Whether agents' commands reach the network, above all in turns of others than the owner. */

import { applyCommand } from "../advice.ts";
import { type Check, pass, skip, warn } from "../check.ts";
import { agentsWithShell, agentsWithShellForOthers } from "../secrets/reach.ts";

export const systemNetwork: Check = {
  id: "system.network",
  subject: "the network of agents' commands",
  async run(context) {
    const config = await context.config();
    if (agentsWithShell(config).length === 0) return skip("No agent has the tool shell.");
    const { network, network_for_others: forOthers } = config.tools.shell;
    if (!network) return pass("Agents' commands have no network.");
    const open = forOthers ? agentsWithShellForOthers(config) : [];
    if (open.length === 0) return pass("Agents' commands have a network in the owner's turns alone.");
    return warn(
      `Commands of other users reach the network through ${open.join(", ")}, and with it services that listen on this machine.`,
      `Take \`tools.shell.network_for_others\` out of cairn.yaml, and run ${await applyCommand(context)}.`,
    );
  },
};
