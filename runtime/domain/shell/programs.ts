/** The rules for single programs: what each must not be called with, whatever brought the call about. */

import { posix } from "node:path";
import { inspectLiteral } from "./code.ts";
import { checkDispatcher } from "./dispatchers.ts";
import { byProgram, hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { checkInterpreter } from "./interpreters.ts";
import {
  absolutePath,
  checkPaths,
  deletionReason,
  ownershipReason,
  readable,
  territoriesOf,
  writeReason,
} from "./paths.ts";
import { CONTAINER_TOOLS, checkReading, isText } from "./reading.ts";
import { isSecretPath } from "./secrets.ts";
import { checkSed, sedScripts } from "./sed.ts";
import { fork } from "./state.ts";
import type { Stream } from "./streams.ts";
import { COMPUTED, HOME, isMarked } from "./values.ts";
import { define } from "./variables.ts";
import { unwrap } from "./wrappers.ts";

/** What the arguments of any program may begin, when it runs them. */
const STARTERS = new Set(
  "awk base64 bash cat chmod chown cp curl dash dd doas env eval find git grep head kill less mkfs more mv nc node nohup od perl python python3 rm ruby sed sh shred sort ssh strings sudo tac tail tee timeout truncate wget xargs xxd zsh".split(
    " ",
  ),
);
const STARTER_IN_TEXT = new RegExp(`((?<![\\w.-])|(?<=^-\\w))(${[...STARTERS].join("|")})\\s.*`, "s");
const MAX_STARTS = 8;
/** The root, the home directory and what shows the whole machine, mounted into a container. */
const CONTAINER_MOUNT = new RegExp(
  `(^(-v|--volume=)?MOUNTED:|(^|[,=])(src|source)=MOUNTED(,|$))`.replaceAll(
    "MOUNTED",
    `(/|${HOME}|/(etc|root|home|var/run/docker\\.sock|run/docker\\.sock|proc|sys|dev))/?`,
  ),
);
const CONTAINER_RIGHTS = /(^| )--(privileged(=true)?|pid[= ]host|cap-add[= ](all|(cap_)?sys_admin))( |$)/i;

type Rule = (invocation: Invocation, inspector: Inspector) => void;

const STOPS = "it would stop the machine";
const DISKS = "it would destroy or change a disk";
const LATER = "it would run something later, outside of its deadline";
const ENDS_ALL = "it would end all processes";
const GIVES_SHELL = "it would give a shell to someone on the network";

/** Programs that are refused whatever they are called with. */
const FORBIDDEN = byProgram({
  "sudo su doas pkexec runuser gosu su-exec setpriv chroot nsenter newgrp sudoedit machinectl":
    "it asks for the rights of another user",
  "shutdown reboot halt poweroff telinit kexec": STOPS,
  "mkswap mke2fs wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard hdparm cryptsetup lvremove vgremove pvremove lvreduce mdadm badblocks swapoff swapon losetup":
    DISKS,
  "insmod rmmod modprobe mount umount pivot_root sysctl": "it would change the system's kernel or mounts",
  "useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd visudo vipw":
    "it would change users or passwords",
  "at batch systemd-run": LATER,
  killall5: ENDS_ALL,
});

/** Programs that are refused with a certain first operand (`verb`), word, or without one. */
const CALLS = byProgram<readonly [what: "verb" | "word" | "without", pattern: RegExp, reason: string][]>({
  init: [["verb", /^[0-6sS]$/, STOPS]],
  "systemctl loginctl": [
    [
      "verb",
      /^(poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|rescue|emergency|isolate|exit|default|soft-reboot)$/,
      STOPS,
    ],
    ["verb", /^(enable|reenable|link|edit|preset|preset-all|add-wants|add-requires|set-environment)$/, LATER],
  ],
  crontab: [["without", /^-l$/, LATER]],
  "iptables ip6tables ebtables nft ufw firewall-cmd": [
    [
      "without",
      /^(-L|-S|-C|-V|list|status|show|--(list|get|query|state|check|version|help)[\w-]*)$/,
      "it would change the firewall",
    ],
  ],
  "pkill killall": [["word", /^(-[uU].*|--e?uid.*|[.*^$]*)$/, ENDS_ALL]],
  "nc ncat netcat": [["word", /^-[a-zA-Z]*[ec]|^--((sh-|lua-)?exec)(=|$)/, GIVES_SHELL]],
  socat: [["word", /^(exec|system|shell):/i, GIVES_SHELL]],
  zpool: [["verb", /^(destroy|labelclear)$/, DISKS]],
  diskutil: [["verb", /^(erase|partition|reformat|zero|random|secureErase)/i, DISKS]],
  "rm rmdir unlink shred srm trash": [["word", /^--no-preserve-root$/, "it would delete the whole file system"]],
});

const RULES = byProgram<Rule>({
  "rm rmdir unlink shred srm trash": ({ args, state }, inspector) =>
    checkPaths(operandsOf(args, "-n -s --iterations --size"), state, inspector, deletionReason, "what it deletes"),
  "chmod chown chgrp setfacl chattr": ({ program, args, state }, inspector) => {
    // A mode or an owner names nothing outside of the directory, and may be an option (`chmod -w x`).
    const [first = "", ...paths] = operandsOf(args, program === "setfacl" ? "-m -M -X" : "");
    checkPaths(
      isMarked(first) ? paths : [first, ...paths],
      state,
      inspector,
      ownershipReason,
      "whose permissions it changes",
    );
  },
  dd: ({ args, state }, inspector) =>
    writeTo(
      args.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : [])),
      state,
      inspector,
    ),
  tee: ({ args, state }, inspector) => writeTo(operandsOf(args), state, inspector),
  truncate: ({ args, state }, inspector) => writeTo(operandsOf(args, "-s -r"), state, inspector),
  sed: ({ args, state }, inspector) => {
    for (const script of sedScripts(args)) checkSed(script, state, inspector);
    if (hasOption(args, "i", "--in-place")) writeTo(operandsOf(args, "-e -f"), state, inspector);
  },
  "cp install ln": destination,
  "tar bsdtar gtar": ({ args, state }, inspector) => {
    const extracts = args.some((arg, at) => (at === 0 ? /^-?[a-zA-Z]*x/ : /^(-[a-zA-Z]*x|--(extract|get)$)/).test(arg));
    if (extracts) writeTo([optionValue(args, "-C", "--directory") ?? "."], state, inspector);
  },
  rsync: (invocation, inspector) => {
    destination(invocation, inspector);
    if (invocation.args.some((arg) => /^--(delete|remove)/.test(arg)))
      checkPaths(operandsOf(invocation.args).slice(-1), invocation.state, inspector, deletionReason);
  },
  mv: (invocation, inspector) => {
    destination(invocation, inspector);
    const operands = operandsOf(invocation.args, "-t -S");
    const target = operands.at(-1) ?? "";
    for (const path of operands.slice(0, -1)) {
      // Under its new name nothing would keep it from being read.
      if (isSecretPath(path) && !isSecretPath(target) && !/(^|\/)\.{0,2}$/.test(target))
        inspector.refuse(`it gives ${readable(path)}, which holds secrets, another name`);
      // Moving everything out of the workspace's root into a directory below is a common way to reorganise it.
      const reorganises =
        path.includes("*") &&
        territoriesOf(path, invocation.state.directories, inspector.workspace).includes("workspace");
      if (!reorganises)
        checkPaths(
          [path],
          invocation.state,
          inspector,
          (...place) => deletionReason(...place)?.replace("delete", "move away") ?? null,
          "what it moves",
        );
    }
  },
  kill: ({ args }, inspector) => {
    const targets = args[0]?.startsWith("-") ? args.slice(1) : args;
    if (targets.some((target) => target === "-1" || target === "1")) inspector.refuse(ENDS_ALL);
  },
  // A container with the host's root, its container socket or all rights is a way around every other rule.
  "docker docker-compose podman nerdctl": ({ args }, inspector) => {
    const opens = CONTAINER_RIGHTS.test(args.join(" ")) || args.some((arg) => CONTAINER_MOUNT.test(arg));
    if (opens && args.some((arg) => arg === "run" || arg === "create" || arg === "exec"))
      inspector.refuse("it would start a container with access to the whole machine");
  },
});

/** Options whose value is a file or a directory that is written to. */
const OUTPUTS = byProgram({
  curl: "-o --output --output-dir -D --dump-header -c --cookie-jar",
  wget: "-O --output-document -P --directory-prefix -o --output-file",
  "gcc g++ cc c++ clang clang++ sort": "-o --output",
  openssl: "-out",
  "unzip patch": "-d",
});

/** Applies every rule to one command. Returns what it prints where a rule has determined it (a wrapped command's output), else null. */
export function checkInvocation(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, state, input } = invocation;
  const forbidden = /^(mkfs|newfs)(\.|$)/.test(program) ? DISKS : FORBIDDEN.get(program);
  const asksForHelp = args.length === 1 && /^--(help|version)$/.test(args[0] ?? "");
  if (forbidden && !asksForHelp) inspector.refuse(`${program}: ${forbidden}`);

  const inner = unwrap(program, args);
  if (inner) {
    const own = program === "env" ? fork(state) : state;
    const options = args.slice(0, args.length - inner.length);
    if (program === "env") for (const arg of options) define(arg, own, inspector);
    const directory = program === "env" ? optionValue(options, "-C", "--chdir") : undefined;
    if (directory !== undefined) own.directories = [absolutePath(directory, state)];
    if (inner.length > 0) return inspector.command(inner, own, input);
  }

  for (const [what, pattern, reason] of CALLS.get(program) ?? []) {
    const words = what === "verb" ? operandsOf(args, "-H -M -t -p").slice(0, 1) : args;
    if (words.some((word) => pattern.test(word)) === (what !== "without")) inspector.refuse(reason);
  }
  RULES.get(program)?.(invocation, inspector);
  const outputs = (OUTPUTS.get(program) ?? "").split(" ").flatMap((option) => optionValue(args, option) ?? []);
  writeTo(
    outputs.filter((path) => path !== "-"),
    state,
    inspector,
  );
  const ruled = (RULES.has(program) || CALLS.has(program)) && !CONTAINER_TOOLS.has(program);
  if (ruled && args.some((arg) => arg.includes(COMPUTED)))
    inspector.ask(`what ${program} is called with is computed while it runs`);
  checkReading(invocation, inspector);
  const printed = checkInterpreter(invocation, inspector) ?? checkDispatcher(invocation, inspector);
  if (!printed && !isText(program, args)) checkGiven(invocation, inspector);
  return printed;
}

/** Whether the program is a wrapper is not known: a word that names a program may begin a command, also inside of a text. */
function checkGiven({ args, state, input }: Invocation, inspector: Inspector): void {
  // A name alone is a topic (`man sudo`); a shell alone reads its input.
  const isStart = (name: string, at: number) => STARTERS.has(name) && (at < args.length - 1 || !FORBIDDEN.has(name));
  const starts = args.flatMap((arg, at) => (isStart(posix.basename(arg), at) ? [at] : [])).slice(0, MAX_STARTS);
  for (const at of starts)
    inspector.doubtful(() => inspector.certain(() => inspector.command(args.slice(at), state, input)));
  const texts = args.flatMap((arg) => STARTER_IN_TEXT.exec(arg)?.[0] ?? []).slice(0, MAX_STARTS);
  for (const text of texts) inspector.doubtful(() => inspectLiteral(text, state, inspector, input));
}

function destination({ args, state }: Invocation, inspector: Inspector): void {
  const given = optionValue(args, "-t", "--target-directory");
  const operands = operandsOf(args, "-t --target-directory -m -o -g -S");
  const target = given ?? operands.at(-1);
  if (target === undefined) return;
  const sources = given === undefined ? operands.slice(0, -1) : operands;
  // Whether the target is a directory is not known.
  writeTo([target, ...sources.map((source) => posix.join(target, posix.basename(source)))], state, inspector);
}

function writeTo(paths: readonly string[], state: Invocation["state"], inspector: Inspector): void {
  checkPaths(paths, state, inspector, writeReason);
}
