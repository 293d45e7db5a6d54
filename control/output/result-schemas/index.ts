/**
 * What each command prints with `--json`: by the words of the command, with `-` between them. docs/schemas/ is generated from
 * them. The commands of `infra`, `build` and `doctor` keep theirs beside their services.
 */

import { z } from "zod";
import { updateHistory, updatePlan, updateResult } from "../../update/result.ts";
import { AUDIT_SCHEMAS } from "./audit.ts";
import { BACKUP_SCHEMAS } from "./backup.ts";
import { CAPTURE_SCHEMAS } from "./capture.ts";
import { MEMORY_SCHEMAS, SESSIONS_SCHEMA } from "./memory.ts";
import { NODE_SCHEMAS } from "./node.ts";
import { SCHEDULE_SCHEMAS } from "./schedule.ts";
import { SETUP_SCHEMAS } from "./setup.ts";

export const RESULT_SCHEMAS = {
  ...NODE_SCHEMAS,
  ...SETUP_SCHEMAS,
  ...MEMORY_SCHEMAS,
  sessions: SESSIONS_SCHEMA,
  ...CAPTURE_SCHEMAS,
  ...BACKUP_SCHEMAS,
  ...AUDIT_SCHEMAS,
  ...SCHEDULE_SCHEMAS,
  update: z.union([updateResult, updatePlan, updateHistory]),
} as const;
