import { describe, expect, it } from "vitest";
import { assembleFilter } from "../../../../runtime/plugins/tools/shell/bpf.ts";
import { commandFilter, type ServiceProcesses } from "../../../../runtime/plugins/tools/shell/seccomp.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const error = (errno: number) => 0x00050000 + errno;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [error(1), error(38), error(97)];

interface SystemCall {
  readonly architecture: number;
  readonly number: number;
  readonly arguments: readonly number[];
}

/** What the kernel would answer: its classic BPF, as far as seccomp allows it. */
function run(filter: Buffer, call: SystemCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.architecture >>> 0, 4);
  for (const [at, value] of call.arguments.entries()) data.writeBigInt64LE(BigInt(value), 16 + at * 8);
  let accumulator = 0;
  for (let at = 0; at * 8 < filter.length; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean) => filter.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x05) at += value;
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x35) at += jump(accumulator >= value);
    else if (code === 0x45) at += jump((accumulator & value) !== 0);
    else if (code === 0x06) return value;
    else throw new Error(`Unknown instruction ${code}`);
  }
  throw new Error("The filter has no end.");
}

const SERVICE: ServiceProcesses = { threads: [1, 7, 8, 9, 4_000_000], groups: [1, 7] };
const MACHINES = [
  { architecture: "x64", audit: 0xc000003e, column: 0 },
  { architecture: "arm64", audit: 0xc00000b7, column: 1 },
] as const;

/** Numbers on both machines, from the kernel's own tables. */
const NUMBERS = {
  read: [0, 63],
  openat: [257, 56],
  openat2: [437, 437],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  mknodat: [259, 33],
  clone: [56, 220],
  clone3: [435, 435],
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  keyctl: [250, 219],
  bpf: [321, 280],
  socket: [41, 198],
  kill: [62, 129],
  tkill: [200, 130],
  tgkill: [234, 131],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  prlimit64: [302, 261],
  fcntl: [72, 25],
  setpriority: [141, 140],
  sched_setaffinity: [203, 122],
  sched_setscheduler: [144, 119],
  sched_setparam: [142, 118],
  sched_setattr: [314, 274],
  ioprio_set: [251, 30],
  fchmodat2: [452, 452],
  fchown: [93, 55],
  fchownat: [260, 54],
  utimensat: [280, 88],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  setxattrat: [463, 463],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  inotify_add_watch: [254, 27],
  fanotify_mark: [301, 263],
  shmget: [29, 194],
  shmat: [30, 196],
  shmctl: [31, 195],
  msgget: [68, 186],
  msgsnd: [69, 189],
  msgrcv: [70, 188],
  msgctl: [71, 187],
  semget: [64, 190],
  semop: [65, 193],
  semctl: [66, 191],
  semtimedop: [220, 192],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  socketpair: [53, 199],
} as const;

const S_IFIFO = 0o010000;
const S_IFCHR = 0o020000;
const S_IFBLK = 0o060000;
const S_IFREG = 0o100000;
const O_CREAT = 0o100;
const O_TMPFILE = 0o20000000;

describe.each(MACHINES)("the filter of system calls on $architecture", ({ architecture, audit, column }) => {
  const answer = (
    call: keyof typeof NUMBERS,
    args: readonly number[] = [],
    { network = true, apart = false, service = SERVICE as ServiceProcesses | null } = {},
  ) => {
    const filter = commandFilter({ architecture, network, apart, service });
    if (filter === null) throw new Error("There is no filter.");
    return run(filter, { architecture: audit, number: NUMBERS[call][column], arguments: args });
  };

  it.each<[keyof typeof NUMBERS, number[], number]>([
    ["read", [], ALLOW],
    ["mount", [], EPERM],
    ["setns", [], EPERM],
    ["keyctl", [], EPERM],
    ["bpf", [], EPERM],
    ["clone3", [], ENOSYS],
    ["openat2", [], ENOSYS],
    // A thread, a child; a child in a new user namespace.
    ["clone", [0x3d0f00], ALLOW],
    ["clone", [0x1200011], ALLOW],
    ["clone", [0x10000011], EPERM],
    ["unshare", [0x400], ALLOW],
    ["unshare", [0x10000000], EPERM],
    ["unshare", [0x80], EPERM],
    ["fchmod", [3, 0o755], ALLOW],
    ["fchmod", [3, 0o4755], EPERM],
    ["fchmodat", [3, 0, 0o1777], ALLOW],
    ["fchmodat", [3, 0, 0o2755], EPERM],
    ["openat", [3, 0, O_CREAT | 1, 0o644], ALLOW],
    ["openat", [3, 0, O_CREAT | 1, 0o4755], EPERM],
    ["openat", [3, 0, O_TMPFILE | 2, 0o2755], EPERM],
    // Without O_CREAT the mode is whatever the register held.
    ["openat", [3, 0, 0, 0o7777], ALLOW],
    ["mknodat", [3, 0, S_IFIFO | 0o644, 0], ALLOW],
    ["mknodat", [3, 0, S_IFREG | 0o4755, 0], EPERM],
    ["mknodat", [3, 0, S_IFCHR | 0o644, 0], EPERM],
    ["mknodat", [3, 0, S_IFBLK | 0o644, 0], EPERM],
    ["socket", [1, 1, 0], ALLOW],
    ["socket", [2, 1, 0], ALLOW],
    ["socket", [10, 1, 0], ALLOW],
    ["socket", [16, 3, 0], ALLOW],
    ["socket", [17, 3, 0], EAFNOSUPPORT],
    ["socket", [40, 1, 0], EAFNOSUPPORT],
    ["kill", [1, 0], EPERM],
    ["kill", [9, 9], EPERM],
    ["kill", [4_000_000, 9], EPERM],
    ["kill", [-1, 9], EPERM],
    ["kill", [-7, 9], EPERM],
    ["kill", [0, 15], ALLOW],
    ["kill", [10, 9], ALLOW],
    ["kill", [-10, 9], ALLOW],
    ["tkill", [8, 9], EPERM],
    ["tgkill", [7, 8, 9], EPERM],
    ["tgkill", [50, 51, 9], ALLOW],
    ["pidfd_open", [7, 0], EPERM],
    ["pidfd_open", [50, 0], ALLOW],
    ["pidfd_send_signal", [3, 9], ENOSYS],
    ["prlimit64", [0, 7], ALLOW],
    ["prlimit64", [7, 7], EPERM],
    ["fcntl", [3, 8, 7], EPERM],
    ["fcntl", [3, 2, 1], ALLOW],
    ["setpriority", [0, 7, 19], EPERM],
    ["setpriority", [2, 0, 19], EPERM],
    ["setpriority", [0, 0, 19], ALLOW],
    ["sched_setaffinity", [9, 8, 0], EPERM],
    ["sched_setaffinity", [0, 8, 0], ALLOW],
  ])("answers %s(%j) with %i", (call, args, expected) => {
    expect(answer(call, args)).toBe(expected);
  });

  it("leaves signals alone where a namespace hides the service", () => {
    expect(answer("kill", [-1, 9], { service: null })).toBe(ALLOW);
    expect(answer("pidfd_send_signal", [3, 9], { service: null })).toBe(ALLOW);
    expect(answer("fchmod", [3, 0o4755], { service: null })).toBe(EPERM);
  });

  it("leaves local sockets alone when it closes the network", () => {
    const families = [1, 2, 10, 16, 17, 40].map((family) => answer("socket", [family, 1, 0], { network: false }));
    expect(families).toEqual([ALLOW, EAFNOSUPPORT, EAFNOSUPPORT, ALLOW, EAFNOSUPPORT, EAFNOSUPPORT]);
  });

  it.each<[keyof typeof NUMBERS, number[], number]>([
    ["fchmodat", [-100, 0x7000, 0o644], EPERM],
    ["fchmodat2", [-100, 0x7000, 0o644], EPERM],
    ["fchownat", [-100, 0x7000, 1000, 0], EPERM],
    ["utimensat", [-100, 0x7000, 0], EPERM],
    // A pointer whose low half is 0 is a path all the same.
    ["utimensat", [-100, 7 * 2 ** 32, 0], EPERM],
    ["setxattr", [0x7000], EPERM],
    ["lsetxattr", [0x7000], EPERM],
    ["setxattrat", [-100, 0x7000], EPERM],
    ["removexattr", [0x7000], EPERM],
    ["lremovexattr", [0x7000], EPERM],
    ["removexattrat", [-100, 0x7000], EPERM],
    ["file_setattr", [-100, 0x7000], EPERM],
    ["inotify_add_watch", [3, 0x7000], EPERM],
    ["fanotify_mark", [3], EPERM],
    ...(["shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop"] as const).map(
      (call): [typeof call, number[], number] => [call, [0], EPERM],
    ),
    ...(["semctl", "semtimedop", "mq_open", "mq_unlink"] as const).map((call): [typeof call, number[], number] => [
      call,
      [0],
      EPERM,
    ]),
    ["socket", [1, 1, 0], EAFNOSUPPORT],
    ["socketpair", [1, 2, 0], EPERM],
    ["socketpair", [1, 3 | 0o2000000, 0], EPERM],
    ...(["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"] as const).map(
      (call): [typeof call, number[], number] => [call, [50, 8, 0], EPERM],
    ),
    ["setpriority", [0, 50, 19], EPERM],
    ["ioprio_set", [1, 50, 3 << 13], EPERM],
  ])("denies %s(%j) to commands that are kept apart, and to no others", (call, args, expected) => {
    expect(answer(call, args, { apart: true })).toBe(expected);
    expect(answer(call, args)).toBe(ALLOW);
  });

  it.each<[keyof typeof NUMBERS, number[]]>([
    ["fchmod", [3, 0o755]],
    ["fchown", [3, 1000, 0]],
    ["fsetxattr", [3, 0x7000]],
    ["utimensat", [3, 0, 0]],
    ["socketpair", [1, 1 | 0o2000000, 0]],
    ["socketpair", [1, 5, 0]],
    ["socket", [2, 1, 0]],
    ["socket", [16, 3, 0]],
    ["sched_setaffinity", [0, 8, 0]],
    ["setpriority", [0, 0, 19]],
    ["ioprio_set", [1, 0, 3 << 13]],
  ])("leaves %s(%j) to commands that are kept apart", (call, args) => {
    expect(answer(call, args, { apart: true })).toBe(ALLOW);
  });

  it("looks at the low half of an argument alone, as the kernel does", () => {
    expect(answer("kill", [7 + 2 ** 40, 9])).toBe(EPERM);
    expect(answer("socket", [40 + 2 ** 40, 1, 0])).toBe(EAFNOSUPPORT);
  });

  it("ends what calls by another architecture's numbers", () => {
    const filter = commandFilter({ architecture, network: true, apart: false, service: null });
    const call = { number: 0, arguments: [] };
    for (const other of [0x40000003, 0x40000028, audit ^ 1])
      expect(run(filter ?? Buffer.alloc(0), { ...call, architecture: other })).toBe(KILL);
  });

  it("has room for the threads of a large machine", () => {
    const threads = Array.from({ length: 700 }, (_, at) => at + 1);
    const filter =
      commandFilter({ architecture, network: true, apart: false, service: { threads, groups: [1] } }) ??
      Buffer.alloc(0);
    expect(filter.length / 8).toBeLessThan(4_096);
    const kill = (pid: number) =>
      run(filter, { architecture: audit, number: NUMBERS.kill[column], arguments: [pid, 9] });
    expect([kill(1), kill(350), kill(700), kill(701)]).toEqual([EPERM, EPERM, EPERM, ALLOW]);
  });
});

it("knows no other calling convention of x86-64", () => {
  const filter = commandFilter({ architecture: "x64", network: true, apart: false, service: null }) ?? Buffer.alloc(0);
  const x32 = { architecture: 0xc000003e, number: 0x40000000 + 90, arguments: [0, 0o4755] };
  expect(run(filter, x32)).toBe(ENOSYS);
});

it("has no filter for a machine whose numbers it does not know", () => {
  expect(commandFilter({ architecture: "riscv64", network: true, apart: false, service: null })).toBeNull();
});

it("denies a call only when all of its conditions hold", () => {
  const filter = assembleFilter({
    architecture: 5,
    firstForeignCall: 1_000,
    denials: [
      {
        calls: [3, 4],
        errno: 9,
        when: [
          { argument: 0, oneOf: [1, 2] },
          { argument: 1, noneOf: [7, 8] },
          { argument: 2, anyBit: 6 },
        ],
      },
      { calls: [4], errno: 2 },
    ],
  });
  const at = (number: number, ...args: number[]) => run(filter, { architecture: 5, number, arguments: args });
  expect(at(3, 2, 0, 4)).toBe(error(9));
  expect(at(4, 1, 9, 2)).toBe(error(9));
  expect([at(3, 3, 0, 4), at(3, 2, 8, 4), at(3, 2, 0, 1), at(5, 2, 0, 4)]).toEqual([ALLOW, ALLOW, ALLOW, ALLOW]);
  expect(at(4, 3, 0, 4)).toBe(error(2));
  expect(at(1_000, 0)).toBe(ENOSYS);
});
