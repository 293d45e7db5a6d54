/** What a service may be called. */

import { UsageError } from "../output/failure.ts";

/** Names of units and labels are part of paths and command lines. */
export function serviceName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(name)) return name;
  throw new UsageError(`${JSON.stringify(name)} is no name of a service.`, "Use letters, digits, -, _ and full stops.");
}
