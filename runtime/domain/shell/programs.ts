/** The rules for single programs: what each must not be called with, whatever brought the call about. */

import { inspectLiteral } from "./code.ts";
import { checkDispatcher } from "./dispatchers.ts";
import { hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { checkInterpreter } from "./interpreters.ts";
import { checkPaths, deletionReason, ownershipReason, readable, territoriesOf, writeReason } from "./paths.ts";
import { CONTAINER_TOOLS, checkReading } from "./reading.ts";
import { isSecretPath } from "./secrets.ts";
import { fork } from "./state.ts";
import type { Stream } from "./streams.ts";
import { COMPUTED } from "./values.ts";
import { define } from "./variables.ts";
import { splitStringOf, unwrap } from "./wrappers.ts";

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
  systemctl: [
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
    const operands = operandsOf(args, "-m -x -M -X --reference");
    const all = program === "setfacl" || args.some((arg) => arg.startsWith("--reference"));
    const paths = all ? operands : operands.slice(1);
    checkPaths(paths, state, inspector, ownershipReason, "whose permissions it changes");
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
    for (const command of sedCommands(args)) inspectLiteral(command, state, inspector);
    if (hasOption(args, "i", "--in-place")) writeTo(operandsOf(args, "-e -f"), state, inspector);
  },
  "cp install ln": destination,
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
  "docker podman nerdctl": ({ args }, inspector) => {
    const opens = args.some(
      (arg) =>
        /^--(privileged|pid=host|cap-add=(all|sys_admin))$/i.test(arg) ||
        /(^|[=,])(\/|\/(etc|root|home|var\/run\/docker\.sock|run\/docker\.sock|proc|sys|dev))(:|,|$)/.test(arg),
    );
    if (opens && args.some((arg) => arg === "run" || arg === "create" || arg === "exec"))
      inspector.refuse("it would start a container with access to the whole machine");
  },
});

/** Applies every rule to one command. Returns what it prints where a rule has determined it (a wrapped command's output), else null. */
export function checkInvocation(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, state, input } = invocation;
  const forbidden = /^(mkfs|newfs)(\.|$)/.test(program) ? DISKS : FORBIDDEN.get(program);
  const asksForHelp = args.length === 1 && /^--(help|version)$/.test(args[0] ?? "");
  if (forbidden && !asksForHelp) inspector.refuse(`${program}: ${forbidden}`);

  const split = splitStringOf(program, args);
  if (split !== null) return inspector.script(split, state, input);
  const inner = unwrap(program, args);
  if (inner) {
    const own = program === "env" ? fork(state) : state;
    if (program === "env") for (const arg of args.slice(0, -inner.length)) define(arg, own, inspector);
    return inner.length > 0 ? inspector.command(inner, own, input) : null;
  }

  for (const [what, pattern, reason] of CALLS.get(program) ?? []) {
    const words = what === "verb" ? operandsOf(args, "-H -M -t -p").slice(0, 1) : args;
    if (words.some((word) => pattern.test(word)) === (what !== "without")) inspector.refuse(reason);
  }
  RULES.get(program)?.(invocation, inspector);
  const ruled = (RULES.has(program) || CALLS.has(program)) && !CONTAINER_TOOLS.has(program);
  if (ruled && args.some((arg) => arg.includes(COMPUTED)))
    inspector.ask(`what ${program} is called with is computed while it runs`);
  checkReading(invocation, inspector);
  return checkInterpreter(invocation, inspector) ?? checkDispatcher(invocation, inspector);
}

function destination({ args, state }: Invocation, inspector: Inspector): void {
  const target = optionValue(args, "-t", "--target-directory") ?? operandsOf(args, "-m -o -g -S").at(-1);
  if (target !== undefined) writeTo([target], state, inspector);
}

function writeTo(paths: readonly string[], state: Invocation["state"], inspector: Inspector): void {
  checkPaths(paths, state, inspector, writeReason);
}

/** Shell commands in sed's scripts: `1e date`, and replacements that are run (`s/x/date/e`). */
function sedCommands(args: readonly string[]): readonly string[] {
  const given = args.flatMap((arg, at) => (/^(-[a-zA-Z]*e|--expression)$/.test(arg) ? [args[at + 1] ?? ""] : []));
  const inline = args.flatMap((arg) => /^--expression=(.*)$/s.exec(arg)?.[1] ?? []);
  const first = given.length + inline.length > 0 ? [] : operandsOf(args, "-f -l").slice(0, 1);
  return [...given, ...inline, ...first].flatMap((script) => [
    ...[...script.matchAll(/(?:^|[;{}\n\d$/!,])[ \t]*e[ \t]+([^\n]+)/g)].map((match) => match[1] ?? ""),
    ...[...script.matchAll(/s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1[gpimMI\d]*e/g)].map((match) =>
      (match[2] ?? "").replaceAll("\\/", "/"),
    ),
  ]);
}

/** A table whose keys are names of programs, with blanks between them. */
function byProgram<Entry>(table: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(table).flatMap(([names, entry]) => names.split(" ").map((name) => [name, entry])));
}
