/**
 * Bounds of a command, set by util-linux's prlimit: `ulimit` differs from shell to shell, and dash has none for processes.
 * The memory bound is on what a process may write to, not on its address space: V8, Go and Java reserve far more of that
 * than they use.
 */

export interface Bounds {
  /** Processes and threads: of the command in bubblewrap, of the user on the whole machine elsewhere. */
  readonly maxProcesses: number;
  /** Bytes of writable private memory of each process. */
  readonly maxMemoryBytes: number;
}

/** The limits above which a process without privileges cannot raise its own. */
export interface HardLimits {
  readonly processes: number;
  readonly memoryBytes: number;
}

/** Pure. Reads /proc/self/limits; what is not in it is unlimited. */
export function hardLimits(text: string): HardLimits {
  const hard = (name: string) => {
    const value = new RegExp(`^${name} +\\S+ +(\\d+)`, "m").exec(text)?.[1];
    return value === undefined ? Number.POSITIVE_INFINITY : Number(value);
  };
  return { processes: hard("Max processes"), memoryBytes: hard("Max data size") };
}

/** Pure. Arguments of prlimit in front of the command. */
export function boundArguments(bounds: Bounds, hard: HardLimits, command: readonly string[]): string[] {
  const processes = Math.min(bounds.maxProcesses, hard.processes);
  const memory = Math.min(bounds.maxMemoryBytes, hard.memoryBytes);
  return ["--core=0:0", `--nproc=${processes}:${processes}`, `--data=${memory}:${memory}`, "--", ...command];
}

/** Succeeds where the bound on processes is not enforced: starting another one must fail at a bound of one. */
export const UNBOUNDED_PROBE: readonly string[] = ["--nproc=1:1", "--", "setsid", "--fork", "true"];
