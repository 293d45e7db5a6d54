/** Programs that run another program given in their arguments: returns the inner command. */

interface Wrapper {
  /** Options that take the next word with them. */
  readonly valued?: readonly string[];
  /** Operands before the command. */
  readonly operands?: number;
  /** `NAME=value` words may precede the command. */
  readonly assignments?: boolean;
  /** A first word that must be there: `uv run`. */
  readonly verb?: readonly string[];
}

const TRACER: Wrapper = { valued: ["-e", "-o", "-p", "-s", "-u", "-E", "-a", "-P"] };

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  builtin: {},
  bundle: { verb: ["exec"] },
  busybox: {},
  caffeinate: {},
  catchsegv: {},
  ccache: {},
  choom: { valued: ["-n", "--adjust"] },
  chronic: {},
  chrt: { operands: 1 },
  command: {},
  coproc: {},
  "dbus-run-session": {},
  eatmydata: {},
  env: { valued: ["-u", "--unset", "-C", "--chdir"], assignments: true },
  exec: { valued: ["-a"] },
  faketime: { operands: 1 },
  fakeroot: {},
  firejail: {},
  ionice: { valued: ["-c", "-n", "-p", "--class", "--classdata"] },
  linux32: {},
  linux64: {},
  ltrace: TRACER,
  nice: { valued: ["-n", "--adjustment"] },
  nohup: {},
  npm: { verb: ["exec", "x"] },
  numactl: {},
  pipenv: { verb: ["run"] },
  pnpm: { verb: ["exec", "dlx"] },
  poetry: { verb: ["run"] },
  prlimit: {},
  proxychains: {},
  proxychains4: {},
  rlwrap: {},
  setarch: { operands: 1 },
  setsid: {},
  stdbuf: { valued: ["-i", "-o", "-e", "--input", "--output", "--error"] },
  strace: TRACER,
  "systemd-inhibit": {},
  taskset: { operands: 1 },
  time: { valued: ["-f", "-o"] },
  timeout: { valued: ["-k", "-s", "--kill-after", "--signal"], operands: 1 },
  torsocks: {},
  toybox: {},
  unbuffer: {},
  unshare: { valued: ["-S", "-G", "-R", "-w", "--setuid", "--setgid", "--root", "--wd", "--propagation"] },
  uv: { verb: ["run"] },
  "xvfb-run": { valued: ["-n", "-s"] },
};

/** The words of the wrapped command (possibly none), or null when the program is no wrapper. */
export function unwrap(program: string, args: readonly string[]): readonly string[] | null {
  const wrapper = /^ld-linux.*\.so/.test(program) ? {} : WRAPPERS[program];
  if (!wrapper) return null;
  let at = 0;
  if (wrapper.verb) {
    if (!wrapper.verb.includes(args[0] ?? "")) return null;
    at = 1;
  }
  let operands = wrapper.operands ?? 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return args.slice(at + 1 + operands);
    if (wrapper.valued?.includes(arg)) at += 1;
    else if (arg.startsWith("-") && arg !== "-") continue;
    else if (wrapper.assignments && /^[A-Za-z_]\w*=/.test(arg)) continue;
    else if (operands > 0) operands -= 1;
    else return args.slice(at);
  }
  return [];
}

/** `env -S 'rm -rf /'`: text that env splits into words itself. */
export function splitStringOf(program: string, args: readonly string[]): string | null {
  if (program !== "env") return null;
  for (const [at, arg] of args.entries()) {
    const inline = /^(?:-[a-zA-Z0]*S|--split-string=)(.*)$/s.exec(arg);
    if (!inline && arg !== "--split-string") continue;
    const first = inline?.[1] === "" || !inline ? (args[at + 1] ?? "") : (inline[1] ?? "");
    const rest = args.slice(inline?.[1] === "" || !inline ? at + 2 : at + 1);
    return [first, ...rest].join(" ");
  }
  return null;
}
