/** The environment of a command: a fixed few variables and what the owner configured. Nothing of the service's own. */

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Taken over from the service where set: where programs are, which language and time zone, nothing else. */
const INHERITED = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"] as const;

export interface EnvironmentInput {
  /** The service's environment. */
  readonly host: Readonly<Record<string, string | undefined>>;
  readonly configured: Readonly<Record<string, string>>;
  readonly home: string;
  /** Directory for temporary files; /tmp when absent. */
  readonly temporary?: string;
  readonly shell: string;
  /** Inside bubblewrap only system directories are there, so that the service's own PATH would mislead. */
  readonly sandboxed: boolean;
}

/** Pure. Configured variables win, also over the fixed ones. */
export function commandEnvironment(input: EnvironmentInput): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = input.host[name];
    if (value) inherited[name] = value;
  }
  if (input.sandboxed || !inherited["PATH"]) inherited["PATH"] = DEFAULT_PATH;
  return {
    LANG: "C.UTF-8",
    ...inherited,
    HOME: input.home,
    SHELL: input.shell,
    TMPDIR: input.temporary ?? "/tmp",
    TERM: "dumb",
    // No program may wait for a terminal that is not there.
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    ...input.configured,
  };
}
