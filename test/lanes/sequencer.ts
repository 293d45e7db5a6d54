/** The order in which files are taken up: what waits for deployments and nodes beside what computes, and the long first. */

import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { ROOT } from "../../scripts/lib/paths.js";
import { LANES } from "./lanes.ts";
import { secondsOf } from "./seconds.ts";

/** Files of these compute all the time that they take; others wait for other processes for a good part of it. */
const COMPUTING = ["pure", "local", "cli", "store"];
/** Of the workers' time; so much that what waits is not left over at the end, where it would leave the processors idle. */
const SHARE_OF_WAITING = 0.6;

export default class InterleavedLanes extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const pathOf = (file: TestSpecification): string => relative(ROOT, file.moduleId);
    return inOrderOfLanes(
      await super.sort(files),
      (file) => file.project.name,
      (file) => secondsOf(pathOf(file)),
    );
  }
}

/**
 * `files` with those of the last lanes of the table first, and within a lane the long ones, else in their order; those that wait and
 * those that compute take turns, so that at any time some workers have the one kind and some the other.
 */
export function inOrderOfLanes<T>(files: readonly T[], laneOf: (file: T) => string, seconds: (file: T) => number): T[] {
  const rank = new Map(LANES.map((lane, index) => [lane.name, LANES.length - index]));
  const rankOf = (file: T): number => rank.get(laneOf(file)) ?? 0;
  const sorted = files.toSorted((a, b) => rankOf(a) - rankOf(b) || seconds(b) - seconds(a));
  const kinds = [false, true].map((computing) => ({
    files: sorted.filter((file) => COMPUTING.includes(laneOf(file)) === computing),
    share: computing ? 1 - SHARE_OF_WAITING : SHARE_OF_WAITING,
    seconds: 0,
  }));
  return sorted.map(() => {
    const open = kinds.filter((kind) => kind.files.length > 0);
    const next = open.reduce((a, b) => (b.seconds / b.share < a.seconds / a.share ? b : a));
    const file = next.files.shift() as T;
    next.seconds += seconds(file);
    return file;
  });
}
