/** A plain `up` starts no server on the data of another major. */

import { type ExportedState, resourcesOf } from "../../engine/checkpoint.ts";
import type { Diff } from "../../schemas.ts";
import { changesDatabase } from "../guards.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";
import { recordedImage, refuseOtherMajor } from "./upgrade-plan.ts";

/** INFRA_UP_REFUSED. An image that is not at its place yet cannot be asked: `up` brings it before. */
export async function refuseOtherServer(
  { driver, run }: Pick<Session, "driver" | "run">,
  { plan }: ReadProject,
  state: ExportedState | null,
  diff: Diff,
): Promise<void> {
  if (plan.postgres === null || driver.database === undefined || !changesDatabase(diff, plan)) return;
  const { image } = plan.postgres;
  const majors = await driver.database.majors(image, run.signal);
  if (majors !== null) refuseOtherMajor(majors, image, recordedImage(resourcesOf(state), plan) !== null);
}
