/** The order in which files are taken up: whole deployments before nodes, nodes before stores, stores before functions. */

import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LANES } from "./lanes.ts";

/**
 * Files that take minutes start first, and quick ones fill the gaps that they leave: no worker is idle at the end while
 * another still has a long file before it.
 */
export default class LongLanesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return inOrderOfLanes(await super.sort(files), (file) => file.project.name);
  }
}

/** `files` with those of the last lanes of the table first; within a lane they stay in their order. */
export function inOrderOfLanes<T>(files: readonly T[], laneOf: (file: T) => string): T[] {
  const rank = new Map(LANES.map((lane, index) => [lane.name, LANES.length - index]));
  return files.toSorted((a, b) => (rank.get(laneOf(a)) ?? 0) - (rank.get(laneOf(b)) ?? 0));
}
