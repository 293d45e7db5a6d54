/** Programs that run another program given in their arguments: returns the inner command. */

import { operandsFrom } from "./inspection.ts";

interface Wrapper {
  /** Options that take the next word with them. */
  readonly valued?: string;
  /** Operands before the command. */
  readonly operands?: number;
  /** A first operand that may be there, with more options behind it. */
  readonly optional?: RegExp;
  /** `NAME=value` words may precede the command. */
  readonly assignments?: boolean;
  /** A first word that must be there: `uv run`. */
  readonly verb?: RegExp;
}

const PLAIN =
  "builtin busybox caffeinate catchsegv ccache chronic command coproc dbus-run-session eatmydata fakeroot firejail linux32 linux64 nohup numactl prlimit proxychains proxychains4 rlwrap setsid systemd-inhibit torsocks toybox unbuffer";
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  ...Object.fromEntries(PLAIN.split(" ").map((name) => [name, {}])),
  bundle: { verb: /^exec$/ },
  choom: { valued: "-n --adjust" },
  chrt: { operands: 1 },
  env: { valued: "-u --unset -C --chdir", assignments: true },
  exec: { valued: "-a" },
  faketime: { operands: 1 },
  ionice: { valued: "-c -n -p --class --classdata" },
  ltrace: { valued: "-e -o -p -s -u -E -a -P" },
  nice: { valued: "-n --adjustment" },
  npm: { verb: /^(exec|x)$/ },
  pipenv: { verb: /^run$/ },
  pnpm: { verb: /^(exec|dlx)$/ },
  poetry: { verb: /^run$/ },
  setarch: {
    optional:
      /^(linux(32|64)|i[3-6]86|athlon|x86_64|amd64|aarch64|arm|ia64|alpha|ppc|s390|mips|sparc|parisc|riscv|uname26)/,
  },
  stdbuf: { valued: "-i -o -e --input --output --error" },
  strace: { valued: "-e -o -p -s -u -E -a -P" },
  taskset: { operands: 1 },
  time: { valued: "-f -o" },
  timeout: { valued: "-k -s --kill-after --signal", operands: 1 },
  unshare: { valued: "-S -G -R -w --setuid --setgid --root --wd --propagation" },
  uv: { verb: /^run$/ },
  "xvfb-run": { valued: "-n -s" },
};

/** The words of the wrapped command (possibly none), or null when the program is no wrapper. */
export function unwrap(program: string, args: readonly string[]): readonly string[] | null {
  const wrapper = /^ld-linux.*\.so/.test(program) ? {} : WRAPPERS[program];
  // `command -v rm` prints a path.
  if (program === "command" && /^-[vV]/.test(args[0] ?? "")) return null;
  if (!wrapper || (wrapper.verb && !wrapper.verb.test(args[0] ?? ""))) return null;
  const given = operandsFrom(wrapper.verb ? args.slice(1) : args, wrapper.valued);
  const words = wrapper.optional?.test(given[0] ?? "") ? operandsFrom(given.slice(1), wrapper.valued) : given;
  const first = wrapper.assignments ? words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word)) : (wrapper.operands ?? 0);
  return first === -1 ? [] : words.slice(first);
}

/** `env -S 'rm -rf /'`: text that env splits into words itself. */
export function splitStringOf(program: string, args: readonly string[]): string | null {
  if (program !== "env") return null;
  for (const [at, arg] of args.entries()) {
    const inline = /^(?:-[a-zA-Z0]*S|--split-string=?)(.*)$/s.exec(arg)?.[1];
    if (inline !== undefined) return [inline, ...args.slice(at + 1)].join(" ");
  }
  return null;
}
