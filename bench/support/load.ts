/** How busy the machine was while something was measured: a figure without it cannot be compared with another. */

import { cpus, loadavg } from "node:os";

export interface Load {
  /** Share of all processors' time that was used by anything, 0 to 1. */
  readonly busy: number;
  /** Load average over the last minute, at the end of the measurement. */
  readonly average_1m: number;
}

/** Starts watching; the returned function tells the load since then. */
export function watchLoad(): () => Load {
  const before = processorTimes();
  return () => {
    const after = processorTimes();
    const total = after.total - before.total;
    const busy = total === 0 ? 0 : 1 - (after.idle - before.idle) / total;
    return { busy: Math.round(busy * 100) / 100, average_1m: Math.round((loadavg()[0] ?? 0) * 100) / 100 };
  };
}

function processorTimes(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, total };
}
