/** What a plan makes on its hosts, by name. */

import { filesContainer } from "../../../../../infra/components/docker/names.ts";
import { databaseData, stackNames } from "../../../../../infra/plan/names.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";

export interface PlacedName {
  readonly name: string;
  readonly place: string;
}

/** Every host of the plan, once. */
export function hostsOf(plan: DockerPlan): string[] {
  return [...new Set([...(plan.postgres ? [plan.host] : []), ...plan.nodes.map((node) => node.host)])];
}

/** Volumes with data. */
export function dataNames(plan: DockerPlan): PlacedName[] {
  const names = stackNames(plan.stack);
  const nodes = plan.nodes.flatMap(({ name, host }) =>
    [names.home(name), names.workspace(name)].map((volume) => ({ name: volume, place: host })),
  );
  const shared = [...new Set(plan.nodes.map((node) => node.host))].map((place) => ({
    name: names.shared,
    place,
  }));
  return [
    ...(plan.postgres ? [{ name: databaseData(plan), place: plan.host }] : []),
    ...nodes,
    ...(plan.sharedStorage ? shared : []),
  ];
}

export function nodeContainer(plan: DockerPlan, node: string): string {
  return stackNames(plan.stack).node(node);
}

/** Containers, those that only lend files included. */
export function containerNames(plan: DockerPlan): PlacedName[] {
  const serving = [
    ...(plan.postgres ? [{ name: stackNames(plan.stack).postgres, place: plan.host }] : []),
    ...plan.nodes.map((node) => ({ name: nodeContainer(plan, node.name), place: node.host })),
  ];
  return serving.flatMap(({ name, place }) => [
    { name, place },
    { name: filesContainer(name), place },
  ]);
}

export interface PublishedPort {
  /** What publishes it, for messages. */
  readonly what: string;
  readonly place: string;
  readonly address: string;
  readonly port: number;
}

export function publishedPorts(plan: DockerPlan): PublishedPort[] {
  const nodes = plan.nodes.flatMap(({ name, host, publish }) =>
    publish ? [{ what: `node ${name}`, place: host, ...publish }] : [],
  );
  const { postgres } = plan;
  return postgres?.publish ? [{ what: "PostgreSQL", place: plan.host, ...postgres.publish }, ...nodes] : nodes;
}

export function atPlace<T extends { readonly place: string }>(items: readonly T[], place: string): T[] {
  return items.filter((item) => item.place === place);
}
