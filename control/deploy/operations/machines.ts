/** The sizes of the machines that a new stack runs on, recorded once: limits that nobody set come from them. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";
import type { OperationInput } from "./services.ts";

/**
 * Whether release.json has more now than before, so that the project is to be read again. A stack that is deployed keeps what
 * it has: a limit that came with a newer version would stop all of its nodes. A host that does not answer is asked again by
 * the next run; preflight names it.
 */
export async function recordMachines(
  { dir, services, signal }: OperationInput,
  driver: TargetDriver,
): Promise<boolean> {
  if (driver.machines === undefined) return false;
  const release = await services.release.read(dir);
  if (release.machines === undefined && Object.keys(release.nodes).length > 0) return false;
  const recorded = release.machines ?? {};
  const places = driver.imagePlaces().filter((place) => !Object.hasOwn(recorded, place));
  if (places.length === 0) return false;
  try {
    await services.release.write(dir, {
      ...release,
      machines: { ...recorded, ...(await driver.machines(places, signal)) },
    });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && ["INFRA_HOST_UNREACHABLE", "INFRA_TOOL_MISSING"].includes(error.code))
      return false;
    throw error;
  }
}
