/** Facts of the machine and of this process; tests hand in others. */

import { readFile, stat, statfs } from "node:fs/promises";
import { availableParallelism, freemem, hostname, loadavg, totalmem } from "node:os";
import process from "node:process";
import { runTool } from "./tools.ts";

export interface Machine {
  /** `24.3.0`. */
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly hostname: string;
  /** Number of the user; undefined where there are none. */
  readonly uid: number | undefined;
  /** Number of the user that a process runs as; null where it cannot be determined. */
  ownerOf(pid: number): Promise<number | null>;
  /** The variable TZ. */
  readonly tz: string | undefined;
  memory(): Promise<{ readonly totalBytes: number; readonly availableBytes: number }>;
  /** Bytes that this user may still write to the file system of a path. */
  disk(path: string): Promise<{ readonly totalBytes: number; readonly freeBytes: number }>;
  /** Files that a process (this one when absent) may have open; null where it cannot be determined, Infinity for no limit. */
  openFiles(signal: AbortSignal, pid?: number): Promise<number | null>;
  /** Processes that run or wait for each processor, over the last minute; 0 where it cannot be determined. */
  load(): number;
}

export function thisMachine(): Machine {
  return {
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    hostname: hostname(),
    uid: process.getuid?.(),
    async ownerOf(pid) {
      if (process.platform !== "linux") return null;
      return (await stat(`/proc/${pid}`).catch(() => null))?.uid ?? null;
    },
    tz: process.env.TZ,
    async memory() {
      const meminfo = await readFile("/proc/meminfo", "utf8").catch(() => "");
      const available = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
      const constrained = process.constrainedMemory();
      const totalBytes = constrained > 0 && constrained < totalmem() ? constrained : totalmem();
      const free = available === undefined ? freemem() : Number(available) * 1_024;
      return { totalBytes, availableBytes: Math.min(free, Math.max(process.availableMemory(), 0)) };
    },
    async disk(path) {
      const { bsize, blocks, bavail } = await statfs(path);
      return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
    },
    async openFiles(signal, pid) {
      const limits = await readFile(`/proc/${pid ?? "self"}/limits`, "utf8").catch(() => null);
      if (limits !== null) return toLimit(/^Max open files\s+(\S+)/m.exec(limits)?.[1]);
      if (pid !== undefined) return null;
      const { stdout } = await runTool("sh", ["-c", "ulimit -n"], { signal });
      return toLimit(stdout.trim());
    },
    load: () => (loadavg()[0] ?? 0) / availableParallelism(),
  };
}

function toLimit(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  return Number.isNaN(limit) ? null : limit;
}
