/** Commands that a fix names, by where the nodes run: what starts a node of this machine is refused beside a deployed stack. */

import type { ProbeContext } from "../context/probe-context.ts";

/** What makes a changed configuration count. */
export async function applyCommand(context: ProbeContext): Promise<string> {
  return (await context.target()) === null ? "`cairn restart`" : "`cairn infra up`";
}

/** What starts a node where none runs. */
export async function startCommand(context: ProbeContext): Promise<string> {
  return (await context.target()) === null ? "`cairn start --detach`" : "`cairn infra up`";
}
