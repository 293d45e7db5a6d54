/** The rules for single programs: what each must not be called with, whatever brought the call about. */

import { posix } from "node:path";
import { checkDispatcher } from "./dispatchers.ts";
import { absolutePath, readable, readingOf } from "./files.ts";
import { hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { checkInterpreter } from "./interpreters.ts";
import { echoOutput, filterOutput, lookupOutput, printfOutput } from "./output.ts";
import { deletionReason, isComputed, ownershipReason, territoriesOf, writeReason } from "./paths.ts";
import { refuseSecrets } from "./reading.ts";
import { isSecretPath } from "./secrets.ts";
import { sedCommands } from "./sed.ts";
import { fork, type ShellState, UNKNOWN } from "./state.ts";
import { NOTHING, SILENCE, type Stream, textStream } from "./stream.ts";
import { concatenate, textsOf } from "./streams.ts";
import { checkVariable } from "./variables.ts";
import { splitStringOf, unwrap } from "./wrappers.ts";

type Rule = (invocation: Invocation, inspector: Inspector) => void;

const FORBIDDEN: Readonly<Record<string, string>> = {
  ...forbid(
    "it asks for the rights of another user",
    "sudo su doas pkexec runuser gosu su-exec setpriv chroot nsenter newgrp sudoedit machinectl",
  ),
  ...forbid("it would stop the machine", "shutdown reboot halt poweroff telinit kexec"),
  ...forbid(
    "it would destroy or change a disk",
    "mkswap mke2fs wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard hdparm cryptsetup lvremove vgremove pvremove lvreduce mdadm badblocks swapoff swapon losetup",
  ),
  ...forbid(
    "it would change the system's kernel or mounts",
    "insmod rmmod modprobe mount umount pivot_root swapoff sysctl",
  ),
  ...forbid(
    "it would change users or passwords",
    "useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd visudo vipw",
  ),
  ...forbid("it would run something later, outside of its deadline", "at batch systemd-run"),
  ...forbid("it would end all processes", "killall5"),
};

const RULES: Readonly<Record<string, Rule>> = {
  rm: deletion,
  rmdir: deletion,
  unlink: deletion,
  shred: deletion,
  srm: deletion,
  trash: deletion,
  chmod: ownership,
  chown: ownership,
  chgrp: ownership,
  setfacl: ownership,
  chattr: ownership,
  dd({ args, state }, inspector) {
    for (const arg of args) {
      if (arg.startsWith("of=")) writeTo(arg.slice(3), state.directories, inspector);
    }
  },
  tee: ({ args, state }, inspector) => writeToAll(operandsOf(args), state.directories, inspector),
  truncate: ({ args, state }, inspector) => writeToAll(operandsOf(args, ["-s", "-r"]), state.directories, inspector),
  sed({ args, state }, inspector) {
    for (const command of sedCommands(args)) inspector.certain(() => inspector.script(command, fork(state), NOTHING));
    if (hasOption(args, "i", "--in-place")) writeToAll(operandsOf(args, ["-e", "-f"]), state.directories, inspector);
  },
  cp: destination,
  install: destination,
  ln: destination,
  rsync(invocation, inspector) {
    destination(invocation, inspector);
    const target = operandsOf(invocation.args).at(-1);
    if (target !== undefined && invocation.args.some((arg) => /^--(delete|remove)/.test(arg))) {
      const reason = deletionReason(target, invocation.state.directories, inspector.workspace);
      if (reason) inspector.refuse(reason);
    }
  },
  mv(invocation, inspector) {
    destination(invocation, inspector);
    const sources = operandsOf(invocation.args, ["-t", "-S"]).slice(0, -1);
    const target = operandsOf(invocation.args, ["-t", "-S"]).at(-1) ?? "";
    for (const path of sources) {
      // Under its new name nothing would keep it from being read.
      if (isSecretPath(path) && !isSecretPath(target) && !/(^|\/)\.{0,2}$/.test(target))
        inspector.refuse(`it gives ${readable(path)}, which holds secrets, another name`);
      // Moving everything out of the workspace's root into a directory below is a common way to reorganise it.
      const where = territoriesOf(path, invocation.state.directories, inspector.workspace);
      const reason =
        path.includes("*") && where.includes("workspace")
          ? null
          : deletionReason(path, invocation.state.directories, inspector.workspace);
      if (reason) inspector.refuse(reason.replace("delete", "move away"));
      else if (isComputed(path)) inspector.ask("what it moves is computed while it runs");
    }
  },
  kill({ args }, inspector) {
    const targets = args[0]?.startsWith("-") ? args.slice(1) : args;
    if (targets.some((target) => target === "-1" || target === "1")) inspector.refuse("it would end all processes");
  },
  init({ args }, inspector) {
    if (/^[0-6sS]$/.test(args[0] ?? "")) inspector.refuse("it would stop the machine");
  },
  systemctl({ args }, inspector) {
    const verb = operandsOf(args, ["-H", "-M", "-t", "-p"])[0] ?? "";
    if (
      /^(poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|rescue|emergency|isolate|exit|default|soft-reboot)$/.test(
        verb,
      )
    ) {
      inspector.refuse("it would stop the machine");
    }
    if (/^(enable|reenable|link|edit|preset|preset-all|add-wants|add-requires|set-environment)$/.test(verb))
      inspector.refuse("it would run something later, outside of its deadline");
  },
  iptables: firewall,
  ip6tables: firewall,
  ebtables: firewall,
  nft: firewall,
  ufw: firewall,
  "firewall-cmd": firewall,
  crontab({ args }, inspector) {
    if (!args.includes("-l")) inspector.refuse("it would run something later, outside of its deadline");
  },
  nc: remoteShell,
  ncat: remoteShell,
  netcat: remoteShell,
  socat({ args }, inspector) {
    if (args.some((arg) => /^(exec|system|shell):/i.test(arg)))
      inspector.refuse("it would give a shell to someone on the network");
  },
  docker: container,
  podman: container,
  nerdctl: container,
  zpool({ args }, inspector) {
    if (args[0] === "destroy" || args[0] === "labelclear") inspector.refuse("it would destroy or change a disk");
  },
  diskutil({ args }, inspector) {
    if (/^(erase|partition|reformat|zero|random|secureErase)/i.test(args[0] ?? ""))
      inspector.refuse("it would destroy or change a disk");
  },
};

/** Applies every rule to one command. Returns what it prints where a rule has determined it (a wrapped command's output), else null. */
export function checkInvocation(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, state, input } = invocation;
  const forbidden = /^(mkfs|newfs)(\.|$)/.test(program) ? "it would destroy or change a disk" : FORBIDDEN[program];
  const asksForHelp = args.length === 1 && /^--(help|version)$/.test(args[0] ?? "");
  if (forbidden && !asksForHelp) inspector.refuse(`${program}: ${forbidden}`);

  const split = splitStringOf(program, args);
  if (split !== null) return inspector.script(split, fork(state), input);
  if (program === "env") for (const arg of args) checkEnvironment(arg, state, inspector);
  const inner = unwrap(program, args);
  if (inner) return inner.length > 0 ? inspector.command(inner, state, input) : null;

  RULES[program]?.(invocation, inspector);
  refuseSecrets(invocation, inspector);
  return checkInterpreter(invocation, inspector) ?? checkDispatcher(invocation, inspector);
}

function checkEnvironment(definition: string, state: ShellState, inspector: Inspector): void {
  const [, name = "", value = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(definition) ?? [];
  checkVariable(name, value, state, inspector);
}

/** What a command prints, as far as it is known; downloads are noted where they are saved. */
export function outputOf(invocation: Invocation): Stream {
  const { program, args, input, state } = invocation;
  switch (program) {
    case "echo":
      return textStream(echoOutput(args));
    case "printf":
      return textStream(printfOutput(args));
    case "ls": {
      // The names of what is there: everything, or what the operands name.
      const named = operandsOf(args, ["-I", "-w", "-T"]).filter((path) => path !== "." && path !== "./");
      return { kind: "program", program, names: `${(named.length > 0 ? named : ["*"]).join("\n")}\n` };
    }
    case "mktemp":
      // A template may lead elsewhere.
      if (args.some((arg) => !/^-[dqu]+$|^--(directory|quiet)$/.test(arg))) break;
      return textStream(`/tmp/${UNKNOWN}\n`);
    case "which":
    case "command":
      return textStream(lookupOutput(args));
    case "basename":
      return textStream(posix.basename(args[0] ?? ""));
    case "dirname":
      return textStream(posix.dirname(args[0] ?? ""));
    case "true":
    case "false":
    case ":":
    case "test":
    case "[":
    case "mkdir":
    case "touch":
    case "sleep":
      return SILENCE;
    case "cat": {
      const files = args.filter((arg) => !arg.startsWith("-"));
      if (files.length > 0) return files.map((file) => readingOf(file, state)).reduce(concatenate);
      break;
    }
    case "curl":
    case "wget":
      recordDownload(invocation);
      break;
    case "head":
    case "tail":
    case "sort":
    case "uniq":
      // Some of the same names, or all of them.
      if (input.kind === "program" && input.names !== undefined) return { ...input, program };
      break;
    case "tee":
      for (const file of operandsOf(args)) state.files.set(absolutePath(file, state), input);
      break;
  }
  if (input.kind === "text") {
    const outputs = textsOf(input).map((text) => filterOutput(program, args, text));
    if (outputs.every((output) => output !== null)) return { kind: "text", texts: outputs };
  }
  return program === "cat" && args.every((arg) => arg.startsWith("-")) ? input : { kind: "program", program };
}

function recordDownload({ program, args, state }: Invocation): void {
  const downloaded: Stream = { kind: "program", program };
  const target =
    program === "curl" ? optionValue(args, "-o", "--output") : optionValue(args, "-O", "--output-document");
  const named =
    target ??
    (program === "wget" || hasOption(args, "O", "--remote-name")
      ? posix.basename(operandsOf(args).at(-1) ?? "")
      : undefined);
  if (named !== undefined && named !== "" && named !== "-") state.files.set(absolutePath(named, state), downloaded);
}

function deletion({ args, state }: Invocation, inspector: Inspector): void {
  if (args.includes("--no-preserve-root")) inspector.refuse("it would delete the whole file system");
  for (const path of operandsOf(args, ["-n", "-s", "--iterations", "--size"])) {
    const reason = deletionReason(path, state.directories, inspector.workspace);
    if (reason) inspector.refuse(reason);
    else if (isComputed(path)) inspector.ask("what it deletes is computed while it runs");
  }
}

function ownership({ program, args, state }: Invocation, inspector: Inspector): void {
  const operands = operandsOf(args, ["-m", "-x", "-M", "-X", "--reference"]);
  const paths =
    program === "setfacl" || args.some((arg) => arg.startsWith("--reference")) ? operands : operands.slice(1);
  for (const path of paths) {
    const reason = ownershipReason(path, state.directories, inspector.workspace);
    if (reason) inspector.refuse(reason);
    else if (isComputed(path)) inspector.ask("whose permissions it changes is computed while it runs");
  }
}

function destination({ args, state }: Invocation, inspector: Inspector): void {
  const target = optionValue(args, "-t", "--target-directory") ?? operandsOf(args, ["-m", "-o", "-g", "-S"]).at(-1);
  if (target !== undefined) writeTo(target, state.directories, inspector);
}

function writeToAll(paths: readonly string[], directories: readonly string[], inspector: Inspector): void {
  for (const path of paths) writeTo(path, directories, inspector);
}

function writeTo(path: string, directories: readonly string[], inspector: Inspector): void {
  const reason = writeReason(path, directories, inspector.workspace);
  if (reason) inspector.refuse(reason);
}

/** What is neither a list nor a question changes rules. */
function firewall({ args }: Invocation, inspector: Inspector): void {
  const asks = args.some((arg) =>
    /^(-L|-S|-C|-V|list|status|show|--(list|get|query|state|check|version|help)[\w-]*)$/.test(arg),
  );
  if (!asks && args.length > 0) inspector.refuse("it would change the firewall");
}

function remoteShell({ args }: Invocation, inspector: Inspector): void {
  if (hasOption(args, "ec", "--exec", "--sh-exec", "--lua-exec"))
    inspector.refuse("it would give a shell to someone on the network");
}

/** A container with the host's root, its container socket or all rights is a way around every other rule. */
function container({ args }: Invocation, inspector: Inspector): void {
  const opens = args.some(
    (arg) =>
      /^--(privileged|pid=host|cap-add=(all|sys_admin))$/i.test(arg) ||
      /(^|[=,])(\/|\/(etc|root|home|var\/run\/docker\.sock|run\/docker\.sock|proc|sys|dev))(:|,|$)/.test(arg),
  );
  if (opens && args.some((arg) => arg === "run" || arg === "create" || arg === "exec"))
    inspector.refuse("it would start a container with access to the whole machine");
}

function forbid(reason: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, reason]));
}
