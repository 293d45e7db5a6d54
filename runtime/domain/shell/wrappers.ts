/** Programs that run another program given in their arguments. Others are recognised by what they are given (programs.ts). */

import { operandsFrom } from "./inspection.ts";

interface Wrapper {
  /** Options that take the next word with them. */
  readonly valued?: string;
  /** Operands before the command. */
  readonly operands?: number;
  /** `NAME=value` words may precede the command. */
  readonly assignments?: boolean;
}

const PLAIN =
  "builtin busybox caffeinate catchsegv ccache chronic command coproc dbus-run-session eatmydata fakeroot firejail linux32 linux64 nohup numactl prlimit proxychains proxychains4 rlwrap setarch setsid systemd-inhibit torsocks toybox unbuffer";
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  ...Object.fromEntries(PLAIN.split(" ").map((name) => [name, {}])),
  env: { valued: "-u --unset -C --chdir", assignments: true },
  exec: { valued: "-a" },
  ionice: { valued: "-c -n -p --class --classdata" },
  nice: { valued: "-n --adjustment" },
  stdbuf: { valued: "-i -o -e --input --output --error" },
  strace: { valued: "-e -o -p -s -u -E -a -P" },
  time: { valued: "-f -o" },
  timeout: { valued: "-k -s --kill-after --signal", operands: 1 },
  watch: { valued: "-n --interval -q" },
  unshare: { valued: "-S -G -R -w --setuid --setgid --root --wd --propagation" },
};

/** The words of the wrapped command (possibly none), or null when the program is no wrapper. */
export function unwrap(program: string, args: readonly string[]): readonly string[] | null {
  const wrapper = /^ld-linux.*\.so/.test(program) ? {} : WRAPPERS[program];
  // `command -v rm` prints a path.
  if (program === "command" && /^-[vV]/.test(args[0] ?? "")) return null;
  if (!wrapper) return null;
  const words = operandsFrom(args, wrapper.valued);
  const first = wrapper.assignments
    ? words.findIndex((word) => word !== "-" && !word.includes("="))
    : (wrapper.operands ?? 0);
  return first === -1 ? [] : words.slice(first);
}
