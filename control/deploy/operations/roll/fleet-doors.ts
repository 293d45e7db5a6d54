/** The database that the nodes of a stack share, through whichever of them answers. */

import { createFleetDatabase, type FleetDatabase, type FleetDoor } from "../../../rollout/fleet-database.ts";
import type { Session } from "../session.ts";
import { membersOf } from "./members.ts";

/** `nodes`: of the plan, that are asked; all when absent. `id`: of who takes the lease (FleetDatabaseOptions). */
export function fleetDatabase(session: Session, nodes?: readonly string[], id?: string): FleetDatabase {
  return createFleetDatabase(doorsOf(session, nodes), {
    ...(id === undefined ? {} : { id }),
    now: () => performance.now(),
    sleep: session.run.services.sleep,
  });
}

export function doorsOf({ run, project, driver }: Session, nodes?: readonly string[]): FleetDoor[] {
  const names = nodes ?? project.plan.nodes.map(({ name }) => name);
  return membersOf(driver, names).map(({ name, node }) => ({
    name,
    call: (signal, work) => run.services.nodes.call({ project, driver, node, member: name }, signal, work),
  }));
}
