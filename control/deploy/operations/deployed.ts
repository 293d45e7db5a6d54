/** What comes after something was applied: writing down what runs, and waiting until it is healthy. */

import type { ObservedNode } from "../inspection.ts";
import { type StackRecord, stackOutputs } from "../schemas.ts";
import { keepNodePlans } from "../state/node-plans.ts";
import { shownBackend } from "./backend.ts";
import { deployedNodes, readRecord, writeRecord } from "./record.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import type { Session } from "./session.ts";

/** Milliseconds that nodes get to become healthy once the engine is done, and between two looks. */
const HEALTHY_MS = 180_000;
const POLL_MS = 500;

/** Writes release.json and stack.json: it is true whether or not it becomes healthy. `nodes`: those of this run. */
export async function recordDeployed(
  session: Session,
  project: ReadProject,
  nodes: readonly string[],
  applied: unknown,
): Promise<Pick<StackRecord, "nodes" | "data">> {
  const { run, files, engine } = session;
  const { plan } = project;
  await recordImages(project, nodes, run);
  const outputs = stackOutputs.parse(applied);
  const before = await readRecord(run.dir);
  // What was not part of this run shows the certificate that it had.
  const certificateOf = (name: string): string | null => {
    const recorded = nodes.includes(name) ? undefined : before?.nodes.find((one) => one.name === name);
    return recorded === undefined ? project.certificate : recorded.certificate_sha256;
  };
  const deployed = deployedNodes(outputs.nodes, plan, certificateOf);
  const data = outputs.data.map(({ name, place }) => ({ name, place }));
  await writeRecord(files, {
    schema: 1,
    stack: plan.stack,
    target: plan.target,
    backend: shownBackend(engine.backend),
    deployed_at: run.services.now().toISOString(),
    version: plan.version,
    nodes: deployed,
    data,
  });
  return { nodes: deployed, data };
}

async function recordImages(
  { plan }: ReadProject,
  nodes: readonly string[],
  { dir, services }: OperationInput,
): Promise<void> {
  const release = await services.release.read(dir);
  const now = plan.nodes.flatMap(({ name, image }) => (image && nodes.includes(name) ? [[name, image] as const] : []));
  const existing = Object.entries(release.nodes).filter(([name]) => plan.nodes.some((node) => node.name === name));
  await services.release.write(dir, { ...release, nodes: Object.fromEntries([...existing, ...now]) });
}

/** What these nodes have now is what a failed change of them goes back to. */
export async function keepHealthy(
  { files, run }: Session,
  project: ReadProject,
  nodes: readonly string[],
  observed: readonly ObservedNode[],
): Promise<void> {
  const healthy = nodes.filter((name) => observed.find((one) => one.name === name)?.health === "healthy");
  await keepNodePlans(files, project, healthy, run.services.now());
}

/**
 * What was observed last; after the deadline, or as soon as every node is healthy. Where nothing was started a node that is
 * gone or does not run does not come back by waiting.
 */
export async function untilHealthy(
  { driver, run }: Session,
  nodes: readonly string[],
  unchanged: boolean,
): Promise<readonly ObservedNode[]> {
  const { services, signal } = run;
  const deadline = services.now().getTime() + HEALTHY_MS;
  for (;;) {
    const observed = await driver.observe(signal);
    const waiting = nodes.filter((name) => observed.find((one) => one.name === name)?.health !== "healthy");
    if (unchanged && allGone(observed, nodes)) return observed;
    if (waiting.length === 0 || services.now().getTime() >= deadline) return observed;
    await services.sleep(POLL_MS, signal);
  }
}

/** Whether those that are not healthy are all gone, or do not run. */
function allGone(observed: readonly ObservedNode[], nodes: readonly string[]): boolean {
  const sick = nodes
    .map((name) => observed.find((one) => one.name === name))
    .filter((one) => one?.health !== "healthy");
  return sick.length > 0 && sick.every((one) => one?.state === "missing" || one?.state === "stopped");
}
