/** The schedule that a command means: by its name, and by its agent where several have one of that name. */

import { Args, Flags } from "@oclif/core";
import type { Client, ScheduleStatus } from "../../runtime/client/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";

export const scheduleArgs = {
  name: Args.string({ ignoreStdin: true, required: true, description: "Its name, as `schedule list` shows it" }),
};

export const scheduleFlags = {
  agent: Flags.string({ helpValue: "NAME", description: "Whose it is, where several agents have one of that name" }),
};

/** RUNTIME_NOT_FOUND; UsageError where several agents have one. */
export async function findSchedule(
  client: Client,
  { name, agent }: { readonly name: string; readonly agent: string | undefined },
  signal: AbortSignal,
): Promise<ScheduleStatus> {
  const all = await client.schedules({ signal });
  const [found, ...others] = all.filter((one) => one.name === name && (agent === undefined || one.agent === agent));
  if (found === undefined) {
    const whose = agent === undefined ? "There is no schedule" : `The agent "${agent}" has no schedule`;
    throw new RuntimeError("RUNTIME_NOT_FOUND", `${whose} "${name}".`, {
      hint: "`cairn schedule list` shows those that there are.",
    });
  }
  if (others.length === 0) return found;
  const agents = [found, ...others].map((one) => one.agent);
  throw new UsageError(
    `Several agents have a schedule "${name}": ${agents.join(", ")}.`,
    `Say whose with \`--agent ${found.agent}\`.`,
  );
}
