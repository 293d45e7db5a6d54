/** The Proxmox target outside the resource graph: what runs on its hosts, how images get there, how nodes are reached. */

import type { ProxmoxPlan } from "../../../../infra/plan/types.ts";
import type { TargetDriver } from "../../driver.ts";
import { connect, enter } from "./connect.ts";
import { archiveData, copyData } from "./host/copies.ts";
import { deleteData, existingData } from "./host/data.ts";
import { removeWorkloads } from "./host/workloads.ts";
import { deliverImage, hasImage, imagePlaces } from "./images.ts";
import { inspect, observe } from "./observe.ts";
import { preflight } from "./preflight.ts";
import { findInterrupted } from "./reconcile.ts";

export function createProxmoxDriver(plan: ProxmoxPlan): TargetDriver {
  return {
    preflight: (signal) => preflight(plan, signal),
    imagePlaces: () => imagePlaces(plan),
    hasImage: (image, place, signal) => hasImage(plan, image, place, signal),
    deliverImage: (image, place, report, signal) => deliverImage(plan, image, place, report, signal),
    existingData: (signal) => existingData(plan, signal),
    observe: (signal) => observe(plan, signal),
    inspect: (recorded, signal) => inspect(plan, recorded, signal),
    // Pulumi's provider has no way to read a command's outcome again.
    readsSettings: false,
    findInterrupted,
    removeWorkloads: (report, signal) => removeWorkloads(plan, report, signal),
    deleteData: (names, signal) => deleteData(plan, names, signal),
    archiveData: (data, file, _report, signal) => archiveData(plan, data, file, signal),
    copyData: (from, to, node, signal) => copyData(plan, { from, to, node }, signal),
    connect: (node, signal) => connect(plan, node, signal),
    enter: (part, action) => enter(plan, part, action),
  };
}
