/** The service manager's unit of a node with the target `manual`: it exists, and its stop timeout is long enough. */

import { access, constants } from "node:fs/promises";
import { parseDuration } from "../../../../runtime/config/schema/scalars.ts";
import { duration } from "../../../output/words.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

export const deploymentService: Check = {
  id: "deployment.service",
  subject: "the service manager's unit",
  async run(context) {
    const { deployment, runtime } = await context.config();
    if (deployment.target !== "manual") return skip(`The target ${deployment.target} supervises the nodes.`);
    const unit = await context.probe.serviceUnit();
    if (unit === null) return skip("No service manager starts the node; `cairn service install` would let one do it.");
    const program = programOf(unit.text);
    if (
      program !== null &&
      (await access(program, constants.X_OK).then(
        () => false,
        () => true,
      ))
    ) {
      return fail(
        `${unit.path} names a program that is not there: ${program}. The service cannot start.`,
        "Write it anew with `cairn service install`.",
      );
    }
    const stop = /^\s*TimeoutStopSec\s*=\s*(\S+)\s*$/m.exec(unit.text)?.[1];
    const stopMs = stop === undefined ? null : milliseconds(stop);
    if (stopMs !== null && stopMs <= runtime.drain_deadline) {
      return warn(
        `${unit.path} kills the node ${duration(stopMs)} after it is asked to stop; active turns get ${duration(runtime.drain_deadline)}.`,
        "Set TimeoutStopSec above runtime.drain_deadline: `cairn service install` writes it anew.",
      );
    }
    return pass(`The node's unit is ${unit.path}.`);
  },
};

/** The first word of ExecStart, or of ProgramArguments; null where it is no absolute path that can be read plainly. */
function programOf(text: string): string | null {
  const unit = /^\s*ExecStart="?(\/[^"\s\\%$]+)/m.exec(text)?.[1];
  return unit ?? /<key>ProgramArguments<\/key>\s*<array>\s*<string>(\/[^<&]+)<\/string>/.exec(text)?.[1] ?? null;
}

/** systemd's seconds, or a time with units; null where it waits forever. */
function milliseconds(text: string): number | null {
  if (text === "infinity") return null;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  return parseDuration(text.replaceAll("min", "m").replaceAll("sec", "s"));
}
