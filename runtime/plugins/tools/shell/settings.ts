/** Settings of the shell tool (`tools.shell.*`), with the defaults in one place. */

import { placesOf } from "../../../contracts/sandbox.ts";

export interface ShellSettings {
  /**
   * `auto`: bubblewrap, or, where it does not work, the service's own container if it runs in one, behind Landlock
   * where the container has it; else commands are refused. `bubblewrap`: nothing else will do. `none`: unconfined, as the service's user: only ever set by the owner.
   */
  readonly sandbox: "auto" | "bubblewrap" | "none";
  /** Whether commands reach the network. Where it is denied and that cannot be enforced, commands are refused. */
  readonly network: boolean;
  /** Whether they reach it in turns of others than the owner, too. */
  readonly networkForOthers: boolean;
  /** Processes and threads of a command (in a container and without a sandbox: of the service's user on the machine). */
  readonly maxProcesses: number;
  /** Bytes of memory that each process of a command may write to. */
  readonly maxMemoryBytes: number;
  /** Environment variables given to commands on top of the fixed few; the service's own environment is never passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute paths outside the system directories that commands may read (tool chains, caches). */
  readonly readOnlyPaths: readonly string[];
  /** Where bubblewrap may be, first found first taken. */
  readonly bubblewrapPaths: readonly string[];
  /** Where util-linux's setpriv may be, which makes the walls inside a container. */
  readonly setprivPaths: readonly string[];
  /** Where util-linux's prlimit and choom may be, which bound what a command takes. */
  readonly prlimitPaths: readonly string[];
  readonly choomPaths: readonly string[];
  /** Where perl may be, which makes Landlock's scopes. */
  readonly perlPaths: readonly string[];
  /** Default and maximum of a command's deadline. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Bytes of output that the model gets: half from the beginning, half from the end. */
  readonly maxOutputBytes: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
}

export const SHELL_DEFAULTS: ShellSettings = {
  sandbox: "auto",
  network: true,
  networkForOthers: false,
  maxProcesses: 4_096,
  maxMemoryBytes: 4 * 1024 ** 3,
  env: {},
  readOnlyPaths: [],
  bubblewrapPaths: placesOf("bwrap"),
  setprivPaths: placesOf("setpriv"),
  prlimitPaths: placesOf("prlimit"),
  choomPaths: placesOf("choom"),
  perlPaths: placesOf("perl"),
  timeoutMs: 120_000,
  maxTimeoutMs: 600_000,
  maxOutputBytes: 65_536,
  killGraceMs: 1_000,
};
