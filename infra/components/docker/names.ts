/** Names that Docker alone needs. Apart from the components, so that commands that only read need not load Pulumi. */

import { stackNames } from "../../plan/names.ts";
import type { DockerPlan } from "../../plan/types.ts";

/** Volume with the data of the stack's PostgreSQL. */
export function databaseVolume({ stack, databaseVolume: named }: Pick<DockerPlan, "stack" | "databaseVolume">): string {
  return named ?? stackNames(stack).database;
}

/** The container that lends its files to another. A node's name has no dot, so no node's container is called like this. */
export function filesContainer(container: string): string {
  return `${container}.files`;
}
