/** Whether the node runs, and the health that it reports; of a deployed stack every node. */

import { duration } from "../../../output/words.ts";
import type { NodeSnapshot } from "../../context/node.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import type { StackNode } from "../../context/stack.ts";
import { type Check, fail, type Outcome, pass, Unavailable, warn } from "../check.ts";

export const deploymentNode: Check = {
  id: "deployment.node",
  subject: "whether the node runs and is healthy",
  async run(context, signal) {
    const snapshot = await context.node();
    const { state, target, reason, url, code, died, taken } = snapshot;
    if (state === "stopped" && target !== null) return warn(`${reason}.`, "Deploy it with `cairn infra up`.");
    if (taken !== null) {
      return fail(
        `No node is running, and ${taken} listens at ${url}: it could not start.`,
        "Set runtime.listen in cairn.yaml (or SERVICE_LISTEN) to another HOST:PORT, or end what listens there; then `cairn start --detach`.",
      );
    }
    if (died !== null) {
      return fail(
        `The node has died: process ${died.pid}, started ${died.startedAt}, ended without stopping. It was killed, it crashed, or the machine went down.`,
        "See `cairn logs --level error`, and the kernel's log for a lack of memory; then start it with `cairn start --detach`.",
      );
    }
    if (state === "stopped") return warn(`${reason}.`, "Start it with `cairn start --detach`.");
    if (state === "busy") {
      return warn(
        "Another process uses the home directory, and is no node that answers.",
        "A node that starts, a short-lived command or a container: try again.",
      );
    }
    if (code === "CONFIG_SECRET_UNRESOLVED") {
      return warn(
        `${url === null ? "The node" : `A node runs at ${url}, and`} cannot be asked: ${reason}.`,
        "Set OP_SERVICE_ACCOUNT_TOKEN, or SERVICE_API_TOKEN itself, for this command.",
      );
    }
    if (target !== null) await refuseOtherCause(context, snapshot, signal);
    return snapshot.stack.length > 1 ? ofStack(snapshot.stack) : ofNode(snapshot);
  },
};

/** What keeps all nodes from being asked, and has a check of its own. */
async function refuseOtherCause(context: ProbeContext, { health, url }: NodeSnapshot, signal: AbortSignal) {
  if (health !== null) return;
  const configuration = await context.configuration();
  if (configuration.state !== "valid") {
    throw new Unavailable("The way to the stack is in the configuration.", ["config.present", "config.valid"]);
  }
  const { target, docker, nodes } = configuration.config.deployment;
  const isHere = target === "docker" && docker.host === "local" && nodes.every(({ host }) => host === undefined);
  if (isHere && url !== null && (await context.probe.hasTool("docker"))) {
    const problem = await context.probe.dockerProblem(signal);
    if (problem !== null) throw new Unavailable("The Docker engine does not answer.", ["deployment.docker"]);
  }
}

function ofNode({ target, health, reason, url, code, fix }: NodeSnapshot): Outcome {
  if (health === null) {
    const see = target === null ? "See `cairn logs --level warn`, then `cairn restart`." : "See `cairn infra status`.";
    return fail(
      `The node${url === null ? "" : ` at ${url}`} does not answer as it should: ${reason}.`,
      code === "RUNTIME_UNAUTHORIZED" ? "See secrets.token." : (fix ?? see),
      code === "RUNTIME_UNAUTHORIZED" ? { see: ["secrets.token"] } : {},
    );
  }
  const words = `The node at ${url} is ${stateOf(health)}, up for ${duration(health.uptime_s * 1_000)}.`;
  if (health.status === "unhealthy") {
    if (lacksDatabase(health)) throw withoutDatabase();
    return fail(words, SEE_LOG);
  }
  return health.status === "degraded" ? warn(words, SEE_LOG, reasonsOf([health])) : pass(words);
}

/** One outcome for all: the worst, and a line for each node. */
function ofStack(nodes: readonly StackNode[]): Outcome {
  const details = nodes.map(({ name, health, reason }) =>
    health === null ? `${name}: ${reason}` : `${name}: ${stateOf(health)}, up for ${duration(health.uptime_s * 1_000)}`,
  );
  const unreachable = nodes.filter(({ health }) => health === null);
  const [first] = unreachable;
  if (first !== undefined) {
    const names = unreachable.map(({ name, reason }) => `${name} (${reason})`).join(", ");
    const fix = first.code === "RUNTIME_UNAUTHORIZED" ? "See secrets.token." : first.fix;
    return fail(
      `${unreachable.length} of ${nodes.length} nodes do not answer: ${names}.`,
      fix ?? "See `cairn infra status`.",
      {
        details,
      },
    );
  }
  const reports = nodes.flatMap(({ name, health }) => (health === null ? [] : [{ name, health }]));
  const ill = reports.filter(({ health }) => health.status === "unhealthy");
  const own = ill.filter(({ health }) => !lacksDatabase(health));
  const rest = { details };
  if (own.length > 0) return fail(`Unhealthy: ${own.map(({ name }) => name).join(", ")}.`, SEE_LOG, rest);
  if (ill.length > 0) throw withoutDatabase();
  const degraded = reports.filter(({ health }) => health.status === "degraded");
  if (degraded.length > 0) {
    const names = degraded.map(({ name, health }) => `${name} is ${stateOf(health)}`).join(", ");
    return warn(`${names}.`, SEE_LOG, { ...rest, ...reasonsOf(degraded.map(({ health }) => health)) });
  }
  return pass(`All ${nodes.length} nodes of the stack are healthy.`, details);
}

function withoutDatabase(): Unavailable {
  return new Unavailable("The node runs, and cannot reach its database.", ["database.reachable"]);
}

/** Where nothing else makes them degraded, a provider or a channel does, which have checks of their own. */
function reasonsOf(reports: readonly Health[]): { readonly see?: readonly string[] } {
  const isOther = reports.some(({ draining, audit }) => draining || (audit !== undefined && audit.failing !== null));
  return isOther ? {} : { see: ["providers.available", "channels.connected"] };
}

const SEE_LOG = "See the other checks, and `cairn logs --level warn`.";

type Health = NonNullable<NodeSnapshot["health"]>;

function lacksDatabase({ memory }: Health): boolean {
  return memory["reachable"] === false;
}

function stateOf({ status, draining }: Health): string {
  return `${status}${draining ? " and draining" : ""}`;
}
