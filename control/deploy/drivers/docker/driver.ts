/** The Docker target outside the resource graph: what runs on its hosts, how images get there, how nodes are reached. */

import type { DockerPlan, SecretValues } from "../../../../infra/plan/types.ts";
import type { TargetDriver } from "../../driver.ts";
import { connect, enter } from "./connect.ts";
import { archiveData, copyData } from "./host/copies.ts";
import { deleteData, existingData, formerData } from "./host/data.ts";
import { databaseServers } from "./host/database-servers.ts";
import { fence, forgetFence } from "./host/fence.ts";
import { engineMemory } from "./host/inventory.ts";
import { removeUnrecorded, removeWorkloads } from "./host/workloads.ts";
import { architectures, deliverImage, hasImage, imagePlaces } from "./images.ts";
import { inspect, observe } from "./observe.ts";
import { fullDisk, preflight } from "./preflight.ts";
import { findInterrupted } from "./reconcile.ts";

export function createDockerDriver(plan: DockerPlan, secrets: Pick<SecretValues, "registry">): TargetDriver {
  return {
    preflight: (signal, deployed) => preflight(plan, signal, deployed),
    fullDisk,
    imagePlaces: () => imagePlaces(plan),
    machines: async (places, signal) =>
      Object.fromEntries(await Promise.all(places.map(async (place) => [place, await engineMemory(place, signal)]))),
    architectures: (node, signal) => architectures(plan, node, signal),
    hasImage: (image, place, signal) => hasImage(image, place, signal),
    deliverImage: (image, place, report, signal) => deliverImage(secrets.registry, { image, place, report, signal }),
    existingData: (signal) => existingData(plan, signal),
    formerData: (signal) => formerData(plan, signal),
    observe: (signal) => observe(plan, signal),
    inspect: (recorded, signal) => inspect(plan, recorded, signal),
    // It does, but takes seconds for it, and does not see who paused a container. What Docker changes in place, `inspect` compares.
    readsSettings: false,
    findInterrupted: (type, name, signal) => findInterrupted(plan, type, name, signal),
    removeWorkloads: (report, signal) => removeWorkloads(plan, report, signal),
    removeUnrecorded: (recorded, report, signal, asked) => removeUnrecorded(plan, { recorded, asked }, report, signal),
    deleteData: (names, signal) => deleteData(plan, names, signal),
    archiveData: (data, file, _report, signal) => archiveData(plan, data, file, signal),
    copyData: (from, to, node, signal) => copyData(plan, { from, to, node }, signal),
    fence: (node, command, signal) => fence(plan, node, command, signal),
    forgetFence: (node, signal) => forgetFence(plan, node, signal),
    ...(plan.postgres === null ? {} : { database: databaseServers(plan, secrets.registry) }),
    connect: (node, signal) => connect(plan, node, signal),
    enter: (part, action, signal) => enter(plan, part, action, signal),
  };
}
