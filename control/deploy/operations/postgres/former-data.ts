/** The way back to the data of before an upgrade: `destroy`, the former settings in cairn.yaml, `up --adopt`. */

import { type ExportedState, resourcesOf } from "../../engine/checkpoint.ts";
import type { Session } from "../session.ts";

const NOTHING: ReadonlySet<string> = new Set();

/**
 * URNs of recorded data of other majors, which the configuration does not name, while no PostgreSQL is deployed: they stay on the
 * target, as after an upgrade, and are the stack's no more. Else empty: then their removal is for the guard of data to refuse.
 */
export async function formerDatabases(
  { driver, run }: Pick<Session, "driver" | "run">,
  state: ExportedState | null,
): Promise<ReadonlySet<string>> {
  const recorded = resourcesOf(state);
  if (driver.database === undefined || !recorded.some((one) => one.protected)) return NOTHING;
  if ((await driver.database.image(recorded, run.signal)) !== null) return NOTHING;
  const former = new Set(((await driver.formerData?.(run.signal)) ?? []).map(({ name }) => name));
  return new Set(recorded.filter((one) => one.protected && former.has(one.name)).map(({ urn }) => urn));
}
