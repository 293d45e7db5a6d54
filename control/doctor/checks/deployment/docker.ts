/** Whether this machine's Docker engine answers, where nodes are to run on it. */

import { type Check, fail, pass, skip, Unavailable } from "../check.ts";

export const deploymentDocker: Check = {
  id: "deployment.docker",
  subject: "whether the Docker engine answers",
  async run(context, signal) {
    const { target, docker, nodes } = (await context.config()).deployment;
    if (target !== "docker") return skip(`The target is ${target}.`);
    const hosts = nodes.length === 0 ? [docker.host] : nodes.map(({ host }) => host ?? docker.host);
    if (!hosts.includes("local")) return skip("All nodes run on other hosts: `cairn infra preview` asks those.");
    if (!(await context.probe.hasTool("docker")))
      throw new Unavailable("There is no docker command.", ["deployment.tools"]);
    const problem = await context.probe.dockerProblem(signal);
    if (problem === null) return pass("The Docker engine answers.");
    return fail(
      `The Docker engine does not answer: ${problem}.`,
      "Start it (`systemctl start docker`), or let this user use it (`usermod -aG docker USER`).",
    );
  },
};
