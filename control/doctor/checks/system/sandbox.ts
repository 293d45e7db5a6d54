/** What agents' commands run in: a sandbox that works here, none by the owner's choice, or nothing, so that they are refused. */

import { sandboxFix } from "../../../service/sandbox.ts";
import { type Check, pass, skip, warn } from "../check.ts";
import { agentsWithShell } from "../secrets/reach.ts";

export const systemSandbox: Check = {
  id: "system.sandbox",
  subject: "the sandbox of agents' commands",
  async run(context, signal) {
    const config = await context.config();
    const target = await context.target();
    if (target !== null) return skip(`The target ${target} gives each node a container.`);
    if (agentsWithShell(config).length === 0) return skip("No agent has the tool shell.");
    if (config.tools.shell.sandbox === "none") {
      return warn(
        "Agents' commands run without a sandbox: they may do all that the node's user may do, and read its secrets.",
        "Remove `tools.shell.sandbox: none` from cairn.yaml, install bubblewrap and run `cairn restart`.",
      );
    }
    const problem = await context.probe.sandboxProblem(signal);
    if (problem === null) return pass("Agents' commands run in a sandbox (bubblewrap).");
    return warn(`Agents' commands are refused: ${problem}.`, sandboxFix(context.machine.platform));
  },
};
