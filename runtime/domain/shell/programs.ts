/** The rules for single programs: what each must not be called with, whatever brought the call about. */

import { posix } from "node:path";
import { inspectLiteral } from "./code.ts";
import { checkDispatcher } from "./dispatchers.ts";
import { byProgram, hasOption, type Invocation, operandsOf, optionValue, optionValues } from "./inspection.ts";
import { checkInterpreter } from "./interpreters.ts";
import {
  absolutePath,
  changeWritten,
  checkPaths,
  DELETING,
  type Deed,
  MOVING,
  PERMITTING,
  readable,
  territoryOf,
  WRITING,
  writeTo,
} from "./paths.ts";
import { checkReading, GIT_VALUED, isText } from "./reading.ts";
import { isSecretPath } from "./secrets.ts";
import { checkSed } from "./sed.ts";
import type { Stream } from "./streams.ts";
import { COMPUTED, HOME, isMarked } from "./values.ts";
import { define } from "./variables.ts";
import { unwrap } from "./wrappers.ts";

/** What the arguments of any program may begin, when it runs them. */
const STARTERS =
  "awk|base64|bash|cat|chmod|chown|cp|curl|dash|dd|doas|env|eval|find|git|grep|head|kill|less|mkfs|more|mv|nc|node|nohup|od|perl|python|python3|rm|ruby|sed|sh|shred|sort|ssh|strings|sudo|tac|tail|tee|timeout|truncate|wget|xargs|xxd|zsh";
const STARTER = new RegExp(`^(${STARTERS})$`);
const STARTER_IN_TEXT = new RegExp(`((?<![\\w.-])|(?<=^-\\w))(${STARTERS})\\s.*`, "s");
const MAX_STARTS = 8;
/** The root, the home directory and what shows the whole machine, mounted into a container. */
const CONTAINER_MOUNT = new RegExp(
  `(^(-v|--volume=)?MOUNTED:|(^|[,=])(src|source)=MOUNTED(,|$))`.replaceAll(
    "MOUNTED",
    `(/|${HOME}|/(etc|root|home|var/run/docker\\.sock|run/docker\\.sock|proc|sys|dev))/?`,
  ),
);
const CONTAINER_RIGHTS = /(^| )--(privileged(=true)?|pid[= ]host|cap-add[= ](all|(cap_)?sys_admin))( |$)/i;

/** Programs that do harm by an option or an operand of any kind: where one is computed, it is asked about. */
const WHOLE =
  /^(rm|rmdir|unlink|shred|srm|trash|ch(mod|own|grp|attr)|setfacl|dd|tee|truncate|g?sed|cp|install|ln|(bsd|g)?tar|rsync|mv|kill|init|systemctl|loginctl|crontab|(ip6?|eb)tables|nft|ufw|firewall-cmd|pkill|killall|nc|ncat|netcat|socat|zpool|diskutil)$/;

/** What they make is run without anyone reading it, as `make` does. */
const COMPILERS = "gcc g++ cc c++ clang clang++";

type Rule = (invocation: Invocation) => void;

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

/** Programs that are refused with certain arguments (`,` stands before, between and after them). */
const CALLS = byProgram<readonly [pattern: RegExp, reason: string]>({
  init: [/,[0-6sS],/, STOPS],
  "systemctl loginctl": [
    /^(,-[HMtp],[^,]*|,-[^,]*)*,(poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|rescue|emergency|isolate|exit|default|soft-reboot|enable|reenable|link|edit|preset|preset-all|add-wants|add-requires|set-environment),/,
    "it would stop the machine, or run something later",
  ],
  crontab: [/^(?!.*,-l,)/s, LATER],
  "iptables ip6tables ebtables nft ufw firewall-cmd": [
    /^(?!.*,(-L|-S|-C|-V|list|status|show|--(list|get|query|state|check|version|help)[\w-]*),)/s,
    "it would change the firewall",
  ],
  "pkill killall": [/,(-[uU].*|--e?uid.*|[.*^$]*),/, ENDS_ALL],
  "nc ncat netcat": [/,(-[a-zA-Z]*[ec]|--((sh-|lua-)?exec)[=,])/, GIVES_SHELL],
  socat: [/,(exec|system|shell):/i, GIVES_SHELL],
  zpool: [/,(destroy|labelclear),/, DISKS],
  diskutil: [/,(erase|partition|reformat|zero|random|secureErase)/i, DISKS],
  "rm rmdir unlink shred srm trash": [/,--no-preserve-root,/, "it would delete the whole file system"],
  kill: [/^(,-[^,]*(?=,.)|(?!,-))(,[^,]*)*,-?1,/, ENDS_ALL],
});

/** What is done to all operands: options that take the next word with them, and the option with which it is done. */
const OPERANDS = byProgram<readonly [deed: Deed, valued: string, option?: RegExp]>({
  "rm rmdir unlink shred srm trash": [DELETING, "-n -s --iterations --size"],
  "tar bsdtar gtar": [DELETING, "", /^--remove/],
  zip: [DELETING, "", /^(-[a-zA-Z]*m|--mo)/],
  truncate: [WRITING, "-s -r"],
  "mknod patch ed ex split csplit": [WRITING, "-m -d -i -p -l -b"],
  "touch mkdir": [WRITING, "-d -m -r -t"],
  "sed gsed perl ruby": [WRITING, "-e -f", /^(-[^-]*i|--i)/],
});

const RULES = byProgram<Rule>({
  "chmod chown chgrp setfacl chattr": ({ program, args, state }) => {
    // A mode or an owner names nothing outside of the directory, and may be an option (`chmod -w x`).
    const [first = "", ...others] = operandsOf(args, program === "setfacl" ? "-m -M -X" : "");
    checkPaths(isMarked(first) ? others : [first, ...others], state, PERMITTING);
  },
  dd: ({ args, state }) => {
    for (const arg of args) if (arg.startsWith("of=")) writeTo([arg.slice(3)], state);
  },
  tee: ({ args, state }) => writeTo(operandsOf(args), state),
  mkfifo: ({ args, state }) => writeTo(operandsOf(args, "-m"), state),
  "sed gsed": ({ args, state }) => checkSed(args, state),
  "cp install ln": copy,
  "tar bsdtar gtar": ({ args, state }) => {
    if (hasOption(args, "x", "--extract", "--get") || /^[a-zA-Z]*x/.test(args[0] ?? ""))
      writeTo([optionValue(args, "-C", "--directory") ?? "."], state);
  },
  rsync: (invocation) => {
    copy(invocation);
    const operands = operandsOf(invocation.args);
    for (const option of invocation.args.filter((arg) => /^--(del|remove)/.test(arg)))
      checkPaths(option.startsWith("--d") ? operands.slice(-1) : operands, invocation.state, DELETING);
  },
  mv: (invocation) => {
    copy(invocation);
    const { args, state } = invocation;
    const [target = "", ...sources] = operandsOf(args, "-t -S").toReversed();
    for (const path of sources) {
      // Under its new name nothing would keep it from being read.
      if (isSecretPath(path) && !isSecretPath(target) && !/(^|\/)\.{0,2}$/.test(target))
        state.inspector.refuse(`it gives ${readable(path)}, which holds secrets, another name`);
      // Moving everything out of the workspace's root into a directory below is a common way to reorganise it.
      if (!path.includes("*") || territoryOf(path, state) !== "workspace") checkPaths([path], state, MOVING);
    }
  },
  git: ({ args, state }) => {
    if ([...state.inspector.written.keys()].some((path) => path.includes("/.git/")))
      state.inspector.ask("git may run what the command writes below .git");
    const [verb = ""] = operandsOf(args, GIT_VALUED);
    // In another repository it deletes what is there.
    const directory = optionValue(args.slice(0, args.indexOf(verb)), "-C", "--work-tree") ?? ".";
    if (verb === "clean" || verb === "rm") checkPaths([posix.join(directory, "x")], state, DELETING);
  },
  man: ({ args, state }) => {
    for (const pager of optionValues(args, "-P", "--pager")) state.inspector.script(pager, state);
  },
  // A container with the host's root, its container socket or all rights is a way around every other rule.
  "docker docker-compose podman nerdctl": ({ args, state }) => {
    const opens = CONTAINER_RIGHTS.test(args.join(" ")) || args.some((arg) => CONTAINER_MOUNT.test(arg));
    if (opens && args.some((arg) => /^(run|create|exec)$/.test(arg)))
      state.inspector.refuse("it would start a container with access to the whole machine");
  },
});

/** Options whose value is a file or a directory that is written to. */
const OUTPUTS = byProgram({
  curl: "-o --output --output-dir -D --dump-header -c --cookie-jar",
  wget: "-O --output-document -P --directory-prefix -o --output-file",
  sort: "-o --output",
  [COMPILERS]: "-o --output",
  openssl: "-out",
  "unzip patch": "-d",
});

/** Applies every rule to one command. Returns what it prints where a rule has determined it (a wrapped command's output), else null. */
export function checkInvocation(invocation: Invocation): Stream | null {
  const { program, args, state, input } = invocation;
  const forbidden = /^(mkfs|newfs)(\.|$)/.test(program) ? DISKS : FORBIDDEN.get(program);
  const asksForHelp = args.length === 1 && /^--(help|version)$/.test(args[0] ?? "");
  if (forbidden && !asksForHelp) state.inspector.refuse(`${program}: ${forbidden}`);

  const inner = unwrap(program, args);
  if (inner) {
    const options = args.slice(0, args.length - inner.length);
    if (program === "env") state.variables.block(() => options.map((arg) => define(arg, state)));
    const directory = program === "env" ? optionValue(options, "-C", "--chdir") : undefined;
    const own = directory === undefined ? state : { ...state, directory: absolutePath(directory, state) };
    if (inner.length > 0) return state.inspector.command(inner, own, input);
  }

  const [pattern, reason = ""] = CALLS.get(program) ?? [];
  if (pattern?.test(`,${args.map((arg) => arg.replaceAll(",", ";")).join(",")},`)) state.inspector.refuse(reason);
  RULES.get(program)?.(invocation);
  checkOutputs(invocation);
  if (WHOLE.test(program) && args.some((arg) => arg.includes(COMPUTED)))
    state.inspector.ask(`what ${program} is called with is computed while it runs`);
  checkReading(invocation);
  const printed = checkInterpreter(invocation) ?? checkDispatcher(invocation);
  if (!printed && !isText(program, args)) checkGiven(invocation);
  return printed;
}

function checkOutputs({ program, args, state }: Invocation): void {
  const [deed, valued, option] = OPERANDS.get(program) ?? [];
  if (deed && (!option || args.some((arg) => option.test(arg)))) {
    const check = () => checkPaths(operandsOf(args, valued), state, deed);
    // What is made under a name that is computed is new, or as it was.
    if (program === "touch" || program === "mkdir") state.inspector.certain(check);
    else {
      check();
      if (deed === WRITING) changeWritten(operandsOf(args, valued), state);
    }
  }
  const paths = optionValues(args, ...(OUTPUTS.get(program)?.split(" ") ?? [])).filter((path) => path !== "-");
  if (program === "curl" || program === "wget") {
    const directory = optionValue(args, "--output-dir", "-P", "--directory-prefix") ?? "";
    const isNamed = program === "wget" || hasOption(args, "O", "--remote-name", "--remote-name-all");
    const urls = isNamed ? operandsOf(args, "-P --directory-prefix --output-dir") : [];
    // `-sSox`: the name behind other letters.
    const inline = args.flatMap((arg) => /^-[a-zA-Z]*?[oO](.+)$/s.exec(arg)?.[1] ?? []);
    paths.push(
      ...[...paths, ...inline, ...urls.map((url) => posix.basename(url))].map((path) => posix.join(directory, path)),
    );
  }
  if (COMPILERS.includes(program)) checkPaths(paths, state, WRITING);
  else writeTo(paths, state);
}

/** Whether the program is a wrapper is not known: a word that names a program may begin a command, also inside of a text. */
function checkGiven({ args, state, input }: Invocation): void {
  // A name alone is a topic (`man sudo`); a shell alone reads its input.
  const isStart = (name: string, at: number) => STARTER.test(name) && (at < args.length - 1 || !FORBIDDEN.has(name));
  const starts = args.flatMap((arg, at) => (isStart(posix.basename(arg), at) ? [at] : [])).slice(0, MAX_STARTS);
  for (const at of starts)
    state.inspector.doubtful(() =>
      state.inspector.certain(() => state.inspector.command(args.slice(at), state, input)),
    );
  const texts = args.flatMap((arg) => STARTER_IN_TEXT.exec(arg)?.[0] ?? []).slice(0, MAX_STARTS);
  for (const text of texts) state.inspector.doubtful(() => inspectLiteral(text, state, input));
}

function copy({ args, state }: Invocation): void {
  const given = optionValue(args, "-t", "--target-directory");
  const operands = operandsOf(args, "-t --target-directory -m -o -g -S");
  const target = given ?? operands.at(-1);
  if (target === undefined) return;
  const sources = given === undefined ? operands.slice(0, -1) : operands;
  // Whether the target is a directory is not known: the copy may be in it.
  writeTo([target, ...sources.map((source) => posix.join(target, posix.basename(source)))], state);
}
