/** Which image each node runs, and bringing it to where the node runs, before anything is changed there. */

import type { DeploymentPlan, ImageIdentity } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { ReadProject } from "./services.ts";
import type { Session } from "./session.ts";

export interface ImageChoice {
  /** Nodes that this run is about; the others keep what they have. */
  readonly nodes: readonly string[];
  /** From the command line. */
  readonly image: string | undefined;
}

/** The project with an image for each of these nodes: as recorded, as named, or built now. INFRA_IMAGE_MISSING. */
export async function withImages(session: Session, { nodes, image }: ImageChoice): Promise<ReadProject> {
  const { project, run } = session;
  const { services, signal } = run;
  if (image !== undefined) return assign(project, nodes, await services.images.resolve(image, project, signal));
  const without = project.plan.nodes.filter((node) => node.image === null && nodes.includes(node.name));
  if (without.length === 0) return project;
  session.phase("image", `Providing the image of ${without.map(({ name }) => name).join(", ")}`);
  const provided = await services.images.provide(project, session.report, signal);
  return assign(
    project,
    without.map(({ name }) => name),
    provided,
  );
}

function assign(project: ReadProject, nodes: readonly string[], image: ImageIdentity): ReadProject {
  const change = <Node extends DeploymentPlan["nodes"][number]>(node: Node): Node =>
    nodes.includes(node.name) ? { ...node, image } : node;
  const { plan } = project;
  // The spread loses which of the three plans it is; `change` keeps each node's own type.
  return { ...project, plan: { ...plan, nodes: plan.nodes.map(change) } as DeploymentPlan };
}

/** Brings what is missing to every place that needs it. Errors as `deliverImage`'s. */
export async function deliverImages(session: Session, project: ReadProject): Promise<void> {
  const { driver, run } = session;
  for (const { image, place } of wantedImages(project.plan, driver.imagePlaces())) {
    if (await driver.hasImage(image, place, run.signal)) continue;
    session.phase("image", `Bringing ${typeof image === "string" ? image : image.reference} to ${place}`);
    await driver.deliverImage(image, place, session.report, run.signal);
  }
}

interface WantedImage {
  readonly image: ImageIdentity | string;
  readonly place: string;
}

/** Each image once a place. On Docker a place needs what runs there; elsewhere every place may run everything. */
function wantedImages(plan: DeploymentPlan, places: readonly string[]): WantedImage[] {
  const wanted = new Map<string, WantedImage>();
  const add = (image: ImageIdentity | string, where: readonly string[]): void => {
    const key = typeof image === "string" ? image : (image.digest ?? image.id ?? image.reference);
    for (const place of where) wanted.set(`${place} ${key}`, { image, place });
  };
  for (const node of plan.nodes) {
    if (node.image === null) {
      throw new InfraError("INFRA_IMAGE_MISSING", `Node ${node.name} has no image yet.`, {
        hint: "Run `cairn build`, or name an image with `--image`.",
      });
    }
    add(node.image, "host" in node ? [node.host] : places);
  }
  if (plan.postgres) add(plan.postgres.image, plan.target === "docker" ? [plan.host] : places);
  return [...wanted.values()];
}
