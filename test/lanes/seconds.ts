/**
 * Seconds that test files take in a complete run, roughly: with four workers on two processors, of which a file has half a one. The order
 * of a complete run and the choice of the quick check rest on them.
 */

import { laneOf } from "./lanes.ts";

const OF_LANE: Readonly<Record<string, number>> = {
  kubernetes: 35,
  ssh: 25,
  docker: 80,
  engine: 90,
  blackbox: 35,
  store: 10,
  cli: 5,
  local: 2,
  pure: 0.3,
};

/** Files that take far longer than others of their lane. */
export const OF_LONG_FILES: Readonly<Record<string, number>> = {
  "test/control/commands/doctor.test.ts": 17,
  "test/control/commands/node.test.ts": 19,
  "test/control/first-start.e2e.test.ts": 57,
  "test/control/login/login.test.ts": 12,
  "test/control/update/update-tree.test.ts": 12,
  "test/control/wizard/init.test.ts": 17,
  "test/control/wizard/terminal.test.ts": 28,
  "test/e2e/capture.e2e.test.ts": 65,
  "test/e2e/crash.e2e.test.ts": 190,
  "test/e2e/faults.e2e.test.ts": 95,
  "test/e2e/memory-commands.e2e.test.ts": 69,
  "test/runtime/app/archive/archives.db.test.ts": 30,
  "test/runtime/app/attachments/attachments.db.test.ts": 23,
  "test/runtime/app/embedding/embedding.db.test.ts": 28,
  "test/runtime/app/embedding/failures.db.test.ts": 33,
  "test/runtime/app/recall/plans.db.test.ts": 20,
  "test/runtime/app/recall/rows/stays-true.db.test.ts": 25,
  "test/runtime/app/recall/search.db.test.ts": 26,
  "test/runtime/app/turn/turns.db.test.ts": 20,
  "test/runtime/app/turn/waiting.db.test.ts": 21,
  "test/runtime/host/modes.test.ts": 20,
  "test/runtime/host/planted-files.db.test.ts": 20,
  "test/runtime/host/strangers.db.test.ts": 39,
  "test/runtime/plugins/memory/embedded-store.db.test.ts": 39,
  "test/runtime/plugins/memory/failures.db.test.ts": 48,
  "test/runtime/plugins/memory/postgres-outages.db.test.ts": 19,
  "test/runtime/plugins/tools/shell-attacks.test.ts": 33,
  "test/runtime/plugins/tools/shell.test.ts": 16,
  "test/runtime/workers/outages.db.test.ts": 26,
  "test/runtime/workers/queue-states.db.test.ts": 27,
  "test/runtime/workers/synthesizer.db.test.ts": 25,
};

/** `file`: its path from the root of the repository. */
export function secondsOf(file: string): number {
  return OF_LONG_FILES[file] ?? OF_LANE[laneOf(file)?.name ?? ""] ?? 0;
}
