/** The Proxmox target outside the resource graph: what runs on its hosts, how images get there, how nodes are reached. */

import { postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import type { ProxmoxPlan, SecretValues } from "../../../../infra/plan/types.ts";
import type { TargetDriver } from "../../driver.ts";
import { connect, enter } from "./connect.ts";
import { archiveData, copyData } from "./host/copies.ts";
import { deleteData, existingData, formerData } from "./host/data.ts";
import { databaseServers } from "./host/database-servers.ts";
import { fence, forgetFence } from "./host/fence.ts";
import { placeAnswers } from "./host/host.ts";
import { removeWorkloads } from "./host/workloads.ts";
import { architectures, deliverImage, hasImage, imagePlaces } from "./images.ts";
import { inspect, observe } from "./observe.ts";
import { preflight } from "./preflight.ts";
import { findInterrupted } from "./reconcile.ts";

export function createProxmoxDriver(
  plan: ProxmoxPlan,
  secrets: Pick<SecretValues, "registry"> = { registry: null },
): TargetDriver {
  // Without an address there is none, as the preflight says.
  const database = plan.postgresAddress === null ? null : postgresCt(plan);
  return {
    preflight: (signal) => preflight(plan, signal),
    answers: (signal) => placeAnswers(plan, signal),
    imagePlaces: () => imagePlaces(plan),
    architectures: (node, signal) => architectures(plan, node, signal),
    hasImage: (image, place, signal) => hasImage(plan, image, place, signal),
    deliverImage: (image, place, report, signal) => deliverImage(plan, image, place, report, signal),
    existingData: (signal) => existingData(plan, signal),
    ...(database === null ? {} : { formerData: (signal) => formerData(plan, signal) }),
    observe: (signal) => observe(plan, signal),
    inspect: (recorded, signal) => inspect(plan, recorded, signal),
    // Pulumi's provider has no way to read a command's outcome again.
    readsSettings: false,
    findInterrupted,
    removeWorkloads: (report, signal) => removeWorkloads(plan, report, signal),
    deleteData: (names, signal) => deleteData(plan, names, signal),
    archiveData: (data, file, _report, signal) => archiveData(plan, data, file, signal),
    copyData: (from, to, node, signal) => copyData(plan, { from, to, node }, signal),
    ...(database === null ? {} : { database: databaseServers(plan, database, secrets.registry) }),
    fence: (node, command, signal) => fence(plan, node, command, signal),
    forgetFence: (node, signal) => forgetFence(plan, node, signal),
    connect: (node, signal) => connect(plan, node, signal),
    enter: (part, action) => enter(plan, part, action),
  };
}
