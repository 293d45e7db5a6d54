/** Edits of `deployment` in cairn.yaml: what a node's place in the list decides is written out before the list changes. */

import { type Document, isMap, isSeq, type YAMLMap } from "yaml";
import type { DeploymentPlan } from "../../infra/plan/types.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { deleteOwn, setOwn } from "../configuration/own-nodes.ts";

const NODES = ["deployment", "nodes"] as const;

/** The image of the deployed PostgreSQL, and the key that says which data are its. */
export interface DatabaseSettings {
  readonly image: string;
  readonly data: { readonly path: readonly string[]; readonly value: string };
}

/** Ports and numbers of the nodes behind it stay what they are. CONFIG_INVALID where the file has no such node. */
export function removeNodeSettings(document: Document, plan: DeploymentPlan, name: string): void {
  const index = indexOf(document, name);
  for (const [at, entry] of entriesOf(document).entries()) if (at > index) pin(entry, plan);
  deleteOwn(document, [...NODES, index]);
}

/** In deployment.nodes and wherever an agent is bound to it. */
export function renameNodeSettings(document: Document, from: string, to: string): void {
  setOwn(document, [...NODES, indexOf(document, from), "name"], to);
  const agents = document.get("agents", true);
  if (!isMap(agents)) return;
  for (const { key } of agents.items) {
    const path = ["agents", String(key), "node"];
    if (document.getIn(path) === from) setOwn(document, path, to);
  }
}

/** What `infra postgres upgrade` switches to: both in one edit. */
export function databaseSettings(document: Document, { image, data }: DatabaseSettings): void {
  setOwn(document, ["deployment", "datahub", "image"], image);
  setOwn(document, data.path, data.value);
}

function pin(entry: YAMLMap, { target, nodes }: DeploymentPlan): void {
  const node = nodes.find((one) => one.name === entry.get("name"));
  if (node === undefined) return;
  if (target === "docker" && !entry.has("port") && node.publish !== null) entry.set("port", node.publish.port);
  if ("vmid" in node && !entry.has("vmid")) entry.set("vmid", node.vmid);
}

function indexOf(document: Document, name: string): number {
  const index = entriesOf(document).findIndex((entry) => entry.get("name") === name);
  if (index >= 0) return index;
  throw new ConfigError("CONFIG_INVALID", `deployment.nodes has no entry with the name ${name}.`);
}

function entriesOf(document: Document): YAMLMap[] {
  const nodes = document.getIn(NODES, true);
  return isSeq(nodes) ? nodes.items.filter((item): item is YAMLMap => isMap(item)) : [];
}
