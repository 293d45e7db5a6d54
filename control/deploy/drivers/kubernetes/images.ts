/**
 * Images in a cluster. It pulls for itself, and which of its machines does is its own affair; nothing is delivered. A new image
 * of a node is applied and held back by the partition (docs/decisions/017-kubernetes-workloads.md), until a run for the node
 * releases it (reconcile.ts).
 */

export const imagePlaces = (): string[] => [];
export const hasImage = async (): Promise<boolean> => true;
export const deliverImage = async (): Promise<void> => {};
