/** The programs that the deployment's target needs on this machine. */

import { type Check, fail, pass, skip } from "../check.ts";

const TOOLS: Readonly<Record<string, readonly (readonly [tool: string, source: string])[]>> = {
  docker: [["docker", "https://docs.docker.com/engine/install"]],
  proxmox: [["ssh", "the package openssh-client"]],
  kubernetes: [["kubectl", "https://kubernetes.io/docs/tasks/tools"]],
};

export const deploymentTools: Check = {
  id: "deployment.tools",
  subject: "the programs that the target needs",
  async run(context) {
    const { target } = (await context.config()).deployment;
    const tools = TOOLS[target];
    if (tools === undefined) return skip("The target is manual: no program is needed.");
    const results = await Promise.all(
      tools.map(async ([tool, source]) => ({ tool, source, found: await context.probe.hasTool(tool) })),
    );
    const missing = results.filter(({ found }) => !found);
    if (missing.length > 0) {
      return fail(
        `The target ${target} needs ${missing.map(({ tool }) => tool).join(", ")}, which is not on the path.`,
        `Install it: ${missing.map(({ source }) => source).join(", ")}.`,
      );
    }
    const pulumi = (await context.probe.hasTool("pulumi"))
      ? "Pulumi is there"
      : "Pulumi is fetched at the first `cairn infra up`";
    return pass(`${tools.map(([tool]) => tool).join(", ")} is there; ${pulumi}.`);
  },
};
