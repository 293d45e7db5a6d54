/** Issues of the configuration as lines of a check's detail. */

import type { ConfigIssue } from "../../../../runtime/config/report.ts";

/** `runtime.listen (line 4, column 3): found ...`. */
export function issueLine({ path, line, column, message }: ConfigIssue): string {
  return `${path}${line === undefined ? "" : ` (line ${line}, column ${column ?? 1})`}: ${message}`;
}

/** `1 error`, `3 errors`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
