/** A plain `up` starts no server on the data of another major. */

import { type ExportedState, resourcesOf } from "../../engine/checkpoint.ts";
import type { Diff } from "../../schemas.ts";
import { startsDatabase } from "../guards.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";
import { refuseOtherMajor } from "./upgrade-plan.ts";

/** INFRA_UP_REFUSED. An image that is not at its place yet cannot be asked: `up` brings it before. */
export async function refuseOtherServer(
  { driver, run }: Pick<Session, "driver" | "run">,
  { plan }: ReadProject,
  state: ExportedState | null,
  diff: Diff,
): Promise<void> {
  if (plan.postgres === null || driver.database === undefined || !startsDatabase(diff, plan)) return;
  const { image } = plan.postgres;
  const majors = await driver.database.majors(image, run.signal);
  if (majors === null) return;
  const deployed = await driver.database.image(resourcesOf(state), run.signal);
  refuseOtherMajor(majors, image, deployed !== null);
}

/** Where `up` would start PostgreSQL: so that its image can be asked. Errors as `deliverImage`'s. */
export async function bringServer(
  { driver, run, report }: Pick<Session, "driver" | "run" | "report">,
  { plan }: ReadProject,
  diff: Diff,
): Promise<void> {
  if (plan.postgres === null || !startsDatabase(diff, plan)) return;
  await driver.database?.bring(plan.postgres.image, report, run.signal);
}
