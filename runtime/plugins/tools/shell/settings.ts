/** What the shell tool can be told (`tools.shell.*`), with the defaults in one place. */

export interface ShellSettings {
  /**
   * `auto`: bubblewrap, or, where it does not work, the service's own container if it runs in one, behind Landlock
   * where the container has it; else commands are refused. `bubblewrap`: nothing else will do. `none`: unconfined, as the service's user: only ever set by the owner.
   */
  readonly sandbox: "auto" | "bubblewrap" | "none";
  /** Whether commands reach the network; only bubblewrap can deny it. */
  readonly network: boolean;
  /** Environment variables given to commands on top of the fixed few; the service's own environment is never passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute paths outside the system directories that commands may read (tool chains, caches). */
  readonly readOnlyPaths: readonly string[];
  /** Where bubblewrap may be, first found first taken. */
  readonly bubblewrapPaths: readonly string[];
  /** Where util-linux's setpriv may be, which makes the walls inside a container. */
  readonly setprivPaths: readonly string[];
  /** Deadline of a command that asks for none, and the longest that it may ask for. */
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
  env: {},
  readOnlyPaths: [],
  bubblewrapPaths: ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  setprivPaths: ["/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv"],
  timeoutMs: 120_000,
  maxTimeoutMs: 600_000,
  maxOutputBytes: 65_536,
  killGraceMs: 2_000,
};
