/** The safety hooks around tool calls: shell danger (10), workspace fence (15), the owner's rules (20), audit log (90). */

import type { AnyHook, Hook } from "../../../contracts/hooks.ts";
import type { Logger } from "../../../contracts/ports.ts";
import type { SafetyRule } from "../../../domain/safety-rules.ts";
import type { AuditFile } from "./audit-file.ts";
import { createAuditHooks, createAuditLog, recordingRefusals } from "./audit-log.ts";
import { createCustomRulesHook } from "./custom-rules.ts";
import { createShellDangerHook } from "./shell-danger.ts";
import { createWorkspaceFenceHook, type PathGate } from "./workspace-fence.ts";

export { type AuditFile, type AuditStatus, createAuditFile } from "./audit-file.ts";
export { type AuditLog, createAuditLog } from "./audit-log.ts";
export { type AuditAges, type AuditRotation, rotateAudit } from "./rotate-audit.ts";
export type { PathGate } from "./workspace-fence.ts";

/** `runtime.safety` of the configuration. */
export interface SafetySettings {
  readonly shell_danger: boolean;
  readonly workspace_fence: boolean;
  readonly audit: boolean;
  readonly rules: readonly SafetyRule[];
}

export interface SafetyDeps {
  readonly settings: SafetySettings;
  /** The gate that the file tools use. */
  readonly gate: PathGate;
  readonly auditFile: AuditFile;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  readonly logger: Logger;
}

/** What is switched off in the settings is not there. Nothing is opened or started before the first call. */
export function createSafetyHooks(deps: SafetyDeps): AnyHook[] {
  const { settings, gate, logger } = deps;
  const guards: Hook<"tool:before">[] = [];
  if (settings.shell_danger) guards.push(createShellDangerHook());
  if (settings.workspace_fence) guards.push(createWorkspaceFenceHook({ gate }));
  if (settings.rules.length > 0) guards.push(createCustomRulesHook({ rules: settings.rules, logger }));
  if (!settings.audit) return guards;
  const log = createAuditLog({ file: deps.auditFile, redact: deps.redact });
  return [...guards.map((guard) => recordingRefusals(guard, log)), ...createAuditHooks(log)];
}
