/** Checks before anything is changed: the driver's errors end the command, its warnings are shown. */

import { type ErrorCode, InfraError } from "../../../runtime/contracts/errors.ts";
import type { Finding } from "../driver.ts";
import { type ExportedState, resourcesOf } from "../engine/checkpoint.ts";
import type { Session } from "./session.ts";

/** The warnings of the configuration and of the target. The first error is thrown with its own code, the others listed. */
export async function preflight(session: Session, state: ExportedState | null): Promise<Finding[]> {
  const { driver, run, project } = session;
  session.phase("preflight", `Looking at the target (${project.plan.target})`);
  const found = await driver.preflight(run.signal, new Set(resourcesOf(state).map(({ name }) => name)));
  const errors = found.filter(({ severity }) => severity === "error");
  const [first] = errors;
  if (first) {
    throw new InfraError(infraCode(first.code), first.message, {
      ...(first.hint === undefined ? {} : { hint: first.hint }),
      ...(errors.length < 2 ? {} : { issues: errors.map(({ message }) => ({ path: "", message })) }),
    });
  }
  const configured: Finding[] = project.warnings.map(({ path, message }) => ({
    severity: "warning",
    code: "CONFIG_INVALID",
    message: path === "" ? message : `${path}: ${message}`,
  }));
  const warnings = [...configured, ...found];
  for (const { message, hint } of warnings) session.warn(hint === undefined ? message : `${message} ${hint}`);
  return warnings;
}

type InfraCode = Extract<ErrorCode, `INFRA_${string}`>;

/** Drivers name codes of the table; one that is not there is still an error. */
function infraCode(code: string): InfraCode {
  return code.startsWith("INFRA_") ? (code as InfraCode) : "INFRA_FAILED";
}
