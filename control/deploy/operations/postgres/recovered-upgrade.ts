/** An upgrade of PostgreSQL that was cut off, where the recorded state is lost as well: cairn.yaml and the volumes alone are left. */

import type { Session } from "../session.ts";
import { closeUpgrade, readUpgrade } from "./upgrade-journal.ts";

/**
 * After everything that runs was removed. While it copied, the former data count, and what was made beside them goes; once it
 * switched, the new volume has them, and the former one stays. The next `up` finds the one that counts in cairn.yaml. Repeatable.
 */
export async function endUpgrade({ run, project, driver, files, phase }: Session): Promise<void> {
  const entry = await readUpgrade(files);
  const servers = driver.database;
  if (entry === null || servers === undefined) return;
  const { from, to, state } = entry;
  const counts = state === "switching" ? to : from;
  phase("postgres", `Going on with PostgreSQL ${counts.major}, whose data are in ${counts.volume}`);
  if (state === "copying") await servers.removeSecond(to.volume, run.signal);
  else await servers.handOver(to.volume, run.signal);
  // While it copies the volume is the former one still; an image of another major would not start on it.
  if (state === "switching" || project.plan.postgres?.image !== from.image) {
    await run.services.configuration.setDatabase({ image: counts.image, data: servers.setting(counts.volume) });
  }
  await closeUpgrade(files);
}
