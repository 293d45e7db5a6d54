/** In which order a program wants its resources, read from their options on the mock engine. */

import type * as pulumi from "@pulumi/pulumi";

export interface Dependencies {
  /** Takes a resource as a transformation sees it. */
  order(args: pulumi.ResourceTransformationArgs): void;
  /** Names of what the resource `<type> <name>` was told to wait for, sorted. */
  after(key: string): readonly string[];
}

export function dependencies(): Dependencies {
  const names = new Map<pulumi.Resource, string>();
  const waits = new Map<string, readonly unknown[]>();
  return {
    order({ resource, type, name, opts }) {
      names.set(resource, name);
      const { dependsOn } = opts;
      waits.set(`${type} ${name}`, Array.isArray(dependsOn) ? dependsOn : dependsOn === undefined ? [] : [dependsOn]);
    },
    // Resources are held as they are, never behind a promise: a program of ours has them at hand.
    after: (key) => (waits.get(key) ?? []).map((one) => names.get(one as pulumi.Resource) ?? "?").toSorted(),
  };
}
