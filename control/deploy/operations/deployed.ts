/** What comes after something was applied: writing down what runs, and what a failed change goes back to. */

import type { ObservedNode } from "../inspection.ts";
import { type RecordedCertificates, type StackRecord, stackOutputs } from "../schemas.ts";
import { keepNodePlans } from "../state/node-plans.ts";
import { shownBackend } from "./backend.ts";
import { makesOwnCertificate, recordOwnCertificates } from "./own-certificates.ts";
import { deployedNodes, readRecord, writeRecord } from "./record.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import type { Session } from "./session.ts";
import { StartFailure } from "./start-watch.ts";

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
  // What was not part of this run shows the certificate that it had; one that a node has made itself lies with its data.
  const certificatesOf = (name: string): RecordedCertificates => {
    const kept = !nodes.includes(name) || makesOwnCertificate(project, name);
    const recorded = kept ? before?.nodes.find((one) => one.name === name) : undefined;
    return recorded ?? { certificate_sha256: project.certificate, next_certificate_sha256: null };
  };
  const deployed = deployedNodes(outputs.nodes, plan, certificatesOf);
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

/** Waits for these nodes, and learns what they show. Rejects with what failed, after the healthy ones among the others were kept. */
export async function keptAfter(
  session: Session,
  project: ReadProject,
  nodes: readonly string[],
  waiting: Promise<readonly ObservedNode[]>,
): Promise<readonly ObservedNode[]> {
  try {
    const observed = await waiting;
    await recordOwnCertificates(session, project, nodes, observed);
    await keepHealthy(session, project, nodes, observed);
    return observed;
  } catch (error) {
    // Where the target brings nodes to what was applied one after the other, those to come run what they had before.
    if (error instanceof StartFailure && session.driver.reconcile === undefined) {
      const others = nodes.filter((name) => error.nodes?.includes(name) !== true);
      const observed = await session.driver.observe(session.run.signal).catch(() => []);
      // What failed is worth more than a copy that could not be written.
      await keepHealthy(session, project, others, observed).catch(() => undefined);
    }
    throw error;
  }
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
