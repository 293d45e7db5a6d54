/**
 * Which system calls a command may not make. bubblewrap and Landlock decide about files; this closes what files do not
 * cover: new namespaces and mounts, the kernel's keys and loaders, address families beyond the usual, set-uid files left
 * behind in the workspace and, in a container, signals to the service and where other users' commands would meet the owner's.
 */

import { assembleFilter, type Condition, type Denial, ENOSYS } from "./bpf.ts";

export interface CommandFilter {
  /** As `process.arch` names it. */
  readonly architecture: string;
  /** False: no IP sockets. Only for containers; bubblewrap has a network namespace for it. */
  readonly network: boolean;
  /**
   * True for commands that share the machine's files and queues with the service and the owner's commands, and shall have no part
   * in them: what acts on a path without opening it, and what meets others by a name or number, is denied.
   */
  readonly apart: boolean;
  /** The service's own processes where the command can see them; null where a process namespace hides them. */
  readonly service: ServiceProcesses | null;
}

export interface ServiceProcesses {
  /** Ids of processes and of their threads: a signal to a thread reaches its process. */
  readonly threads: readonly number[];
  /** Process groups. */
  readonly groups: readonly number[];
}

const EPERM = 1;
const EAFNOSUPPORT = 97;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
/** Programs list the interfaces with it; what it could change needs a capability. */
const AF_NETLINK = 16;

const SET_ID_BITS = 0o6000;
const FILE_TYPE_BITS = 0o170000;
const DEVICE_TYPES = [0o020000, 0o060000];
/** O_CREAT and __O_TMPFILE: only with them does `open` use the mode. */
const CREATES = 0o100 | 0o20000000;
/** CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net. */
const NEW_NAMESPACES = 0x7e020000;
/** In `clone` this bit is a part of the signal's number. */
const NEW_TIME_NAMESPACE = 0x80;
const F_SETOWN = 8;
const F_SETOWN_EX = 15;
const FIOSETOWN = 0x8901;
const SIOCSPGRP = 0x8902;
const SOCKET_TYPE_BITS = 0xf;
/** SOCK_DGRAM, and SOCK_RAW, which local sockets take for the same. */
const DATAGRAMS = [2, 3];

/** Numbers on x86-64 and on arm64; null where a call does not exist. */
const CALLS = {
  open: [2, null],
  creat: [85, null],
  openat: [257, 56],
  openat2: [437, 437],
  chmod: [90, null],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  mknod: [133, null],
  mknodat: [259, 33],
  clone: [56, 220],
  clone3: [435, 435],
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  move_mount: [429, 429],
  open_tree: [428, 428],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
  quotactl: [179, 60],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  socket: [41, 198],
  kill: [62, 129],
  tkill: [200, 130],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  fcntl: [72, 25],
  ioctl: [16, 29],
  prlimit64: [302, 261],
  sched_setaffinity: [203, 122],
  sched_setscheduler: [144, 119],
  sched_setparam: [142, 118],
  sched_setattr: [314, 274],
  setpriority: [141, 140],
  ioprio_set: [251, 30],
  chown: [92, null],
  lchown: [94, null],
  fchownat: [260, 54],
  utime: [132, null],
  utimes: [235, null],
  futimesat: [261, null],
  utimensat: [280, 88],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  setxattrat: [463, 463],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  inotify_add_watch: [254, 27],
  fanotify_mark: [301, 263],
  shmget: [29, 194],
  shmctl: [31, 195],
  shmat: [30, 196],
  msgget: [68, 186],
  msgctl: [71, 187],
  msgrcv: [70, 188],
  msgsnd: [69, 189],
  semget: [64, 190],
  semctl: [66, 191],
  semtimedop: [220, 192],
  semop: [65, 193],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  socketpair: [53, 199],
} as const satisfies Readonly<Record<string, readonly [number, number | null]>>;

type Call = keyof typeof CALLS;
const SCHEDULING: readonly Call[] = ["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"];
type Deny = (errno: number, calls: readonly Call[], ...when: readonly Condition[]) => Denial;

const ARCHITECTURES: Readonly<Record<string, { column: 0 | 1; audit: number; firstForeignCall: number }>> = {
  x64: { column: 0, audit: 0xc000003e, firstForeignCall: 0x40000000 },
  arm64: { column: 1, audit: 0xc00000b7, firstForeignCall: 0xffffffff },
};

/** Pure. Null for an architecture whose numbers are not known here. */
export function commandFilter({ architecture, network, apart, service }: CommandFilter): Buffer | null {
  const numbers = ARCHITECTURES[architecture];
  if (numbers === undefined) return null;
  const deny: Deny = (errno, calls, ...when) => ({
    calls: calls.map((call) => CALLS[call][numbers.column]).filter((call) => call !== null),
    errno,
    when,
  });
  const families = [...(apart ? [] : [AF_UNIX]), ...(network ? [AF_INET, AF_INET6] : []), AF_NETLINK];
  const setId = (argument: number): Condition => ({ argument, anyBit: SET_ID_BITS });
  const creates = (argument: number): Condition => ({ argument, anyBit: CREATES });
  const device = (argument: number): Condition => ({ argument, mask: FILE_TYPE_BITS, oneOf: DEVICE_TYPES });
  const denials = [
    deny(EPERM, [
      ...(["setns", "mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig"] as const),
      ...(["fsmount", "fspick", "mount_setattr", "open_by_handle_at", "keyctl", "add_key", "request_key"] as const),
      ...(["bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module"] as const),
      ...(["finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "syslog", "quotactl"] as const),
      ...(["settimeofday", "clock_settime"] as const),
    ]),
    // These hide their arguments in memory, where a filter cannot read. Programs fall back to the older calls.
    deny(ENOSYS, ["clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"]),
    deny(EPERM, ["unshare"], { argument: 0, anyBit: NEW_NAMESPACES | NEW_TIME_NAMESPACE }),
    deny(EPERM, ["clone"], { argument: 0, anyBit: NEW_NAMESPACES }),
    deny(EAFNOSUPPORT, ["socket"], { argument: 0, noneOf: families }),
    deny(EPERM, ["chmod", "fchmod", "creat"], setId(1)),
    deny(EPERM, ["fchmodat", "fchmodat2"], setId(2)),
    deny(EPERM, ["open"], creates(1), setId(2)),
    deny(EPERM, ["openat"], creates(2), setId(3)),
    deny(EPERM, ["mknod"], setId(1)),
    deny(EPERM, ["mknodat"], setId(2)),
    deny(EPERM, ["mknod"], device(1)),
    deny(EPERM, ["mknodat"], device(2)),
    ...(apart ? apartDenials(deny) : []),
    ...(service === null ? [] : serviceDenials(deny, service)),
  ];
  return assembleFilter({
    architecture: numbers.audit,
    firstForeignCall: numbers.firstForeignCall,
    denials: denials.filter(({ calls }) => calls.length > 0),
  });
}

/**
 * Landlock decides about what is opened, made and removed. It lets modes, owners, times and attributes be changed by path, and
 * files be watched; what goes by an open descriptor stays allowed. Queues and shared memory are known by numbers, and outlive
 * the command. Pairs of sockets stay, since programs talk with their children by them, but not those that can send to names.
 */
function apartDenials(deny: Deny): Denial[] {
  return [
    deny(EPERM, [
      ...(["chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "futimesat"] as const),
      ...(["setxattr", "lsetxattr", "setxattrat", "removexattr", "lremovexattr", "removexattrat"] as const),
      ...(["file_setattr", "inotify_add_watch", "fanotify_mark"] as const),
      ...(["shmget", "shmctl", "shmat", "msgget", "msgctl", "msgrcv", "msgsnd"] as const),
      ...(["semget", "semctl", "semtimedop", "semop", "mq_open", "mq_unlink"] as const),
    ]),
    // Without a path it is `futimens`: both halves of the pointer are 0.
    deny(EPERM, ["utimensat"], { argument: 1, noneOf: [0] }),
    deny(EPERM, ["utimensat"], { argument: 1, high: true, noneOf: [0] }),
    deny(EPERM, ["socketpair"], { argument: 1, mask: SOCKET_TYPE_BITS, oneOf: DATAGRAMS }),
    // The owner's commands are processes of the same user, and no scope of Landlock is about these. A process's own number is 0.
    deny(EPERM, SCHEDULING, { argument: 0, noneOf: [0] }),
    deny(EPERM, ["setpriority", "ioprio_set"], { argument: 1, noneOf: [0] }),
  ];
}

/** Every way to signal, stop or slow down a process by its number. */
function serviceDenials(deny: Deny, { threads, groups }: ServiceProcesses): Denial[] {
  const everything = -1;
  const otherThanOneProcess = { argument: 0, oneOf: [1, 2] };
  return [
    deny(
      EPERM,
      [...(["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"] as const), ...SCHEDULING],
      { argument: 0, oneOf: threads },
    ),
    deny(EPERM, ["kill"], { argument: 0, oneOf: [everything, ...groups.map((group) => -group)] }),
    deny(EPERM, ["setpriority", "ioprio_set"], { argument: 1, oneOf: threads }),
    deny(EPERM, ["setpriority"], otherThanOneProcess),
    deny(EPERM, ["ioprio_set"], { argument: 0, oneOf: [2, 3] }),
    // A process may limit others of its user; its own number is 0.
    deny(EPERM, ["prlimit64"], { argument: 0, noneOf: [0] }),
    // A directory of /proc is a process descriptor, too, and the owner of a file gets signals.
    deny(ENOSYS, ["pidfd_send_signal"]),
    deny(EPERM, ["fcntl"], { argument: 1, oneOf: [F_SETOWN, F_SETOWN_EX] }),
    deny(EPERM, ["ioctl"], { argument: 1, oneOf: [FIOSETOWN, SIOCSPGRP] }),
  ];
}
