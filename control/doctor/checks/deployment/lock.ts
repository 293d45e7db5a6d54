/** Locks of the deployment's stacks that a process has left behind: every later command would be refused. */

import { type Check, fail, pass, skip, warn } from "../check.ts";

export const deploymentLock: Check = {
  id: "deployment.lock",
  subject: "locks of the deployment's stacks",
  async run(context) {
    const locks = await context.probe.stackLocks(context.paths.dir);
    if (locks.length === 0) return skip("No stack is locked.");
    const lines = locks.map(
      ({ stack, pid, host, started_at }) => `${stack}: process ${pid} on ${host}, since ${started_at}`,
    );
    const dead = locks.filter(({ alive }) => alive === false);
    if (dead.length > 0) {
      return fail(
        `${dead.map(({ stack, pid }) => `The stack ${stack} is locked by process ${pid}, which has ended`).join("; ")}.`,
        "Remove the lock with `cairn infra unlock`, then look with `cairn infra status` at what was half done.",
        { details: lines },
      );
    }
    const unreachable = locks.filter(({ alive }) => alive === null);
    if (unreachable.length === 0) return pass(`A command is at work on the deployment: ${lines.join("; ")}.`, lines);
    return warn(
      `A process of another machine has locked the deployment: ${lines.join("; ")}.`,
      "Wait for it. When it is gone for good: `cairn infra unlock`.",
      { details: lines },
    );
  },
};
