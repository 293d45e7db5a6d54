/** Images on a Docker host: what it has, and how the others get there: from a registry, or from this machine's engine. */

import type { DockerPlan, ImageIdentity, SecretValues } from "../../../../infra/plan/types.ts";
import { askDocker } from "../../images/docker-cli.ts";
import { identityOf, inspectImage } from "../../images/inspect.ts";
import { hasImage as engineHasImage, pullImage, runnable, sendImage } from "../../images/transport.ts";
import type { Report } from "../../inspection.ts";
import { hostsOf } from "./host/names.ts";
import { whileReachable } from "./host/reachable.ts";

const HERE = "local";
/** Of PostgreSQL, which alone is asked for by a name. */
const DATABASE_HINT =
  "Name an image that the machine reaches in deployment.datahub.image (PostgreSQL with pgvector), or bring this one there with `docker save` and `docker load`: one that is there is not pulled.";

/** Every host of the plan. */
export function imagePlaces(plan: DockerPlan): string[] {
  return hostsOf(plan);
}

/** Of the node's host. INFRA_HOST_UNREACHABLE where it does not answer. */
export async function architectures(plan: DockerPlan, node: string, signal: AbortSignal): Promise<string[]> {
  const host = plan.nodes.find(({ name }) => name === node)?.host ?? HERE;
  const answer = await askDocker(["version", "--format", "{{.Server.Arch}}"], { host, signal });
  return [answer.trim()].filter((name) => name !== "");
}

/** A container that is made by digest needs that digest there; the same image without it would be pulled again. */
export function hasImage(image: ImageIdentity | string, place: string, signal: AbortSignal): Promise<boolean> {
  return engineHasImage(runnable(image), place, signal);
}

export interface Delivery {
  readonly image: ImageIdentity | string;
  readonly place: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** INFRA_IMAGE_MISSING when neither a registry nor this machine has it; INFRA_HOST_UNREACHABLE also where it falls silent. */
export function deliverImage(registry: SecretValues["registry"], delivery: Delivery): Promise<void> {
  const { place } = delivery;
  return whileReachable(place, delivery.signal, (signal) => deliver(registry, { ...delivery, signal }));
}

async function deliver(registry: SecretValues["registry"], delivery: Delivery): Promise<void> {
  const { image, place, report, signal } = delivery;
  if (await hasImage(image, place, signal)) return;
  if (typeof image !== "string") {
    // Only a registry gives an image with its digest; only an engine gives one that has none.
    if (image.digest !== null) await pullImage(image, place, registry, report, signal);
    else await sendImage({ image, from: HERE, to: place, report, signal });
    return;
  }
  const local = place === HERE ? null : await inspectImage(image, HERE, signal);
  if (local === null) await pullImage(image, place, registry, report, signal, DATABASE_HINT);
  else await sendImage({ image: identityOf(local, image), from: HERE, to: place, report, signal });
}
