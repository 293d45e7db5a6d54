/** A systemd unit, with systemd's own rules of quoting (systemd.syntax(7), systemd.service(5), "Command lines"). */

import { fillTemplate, type ServiceDescription } from "./service.ts";

/**
 * What only the machine's manager can do. ProtectKernelTunables, ProtectKernelLogs and ProcSubset are missing on purpose: they
 * mount over parts of /proc, and then the kernel lets no sandbox mount a /proc of its own. ProtectHostname would refuse the
 * sandbox its host name.
 */
const MACHINE = [
  "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
  "ProtectSystem=strict",
  "ProtectHome=read-only",
  "ProtectProc=invisible",
  "ProtectClock=true",
  "ProtectControlGroups=true",
  "ProtectKernelModules=true",
  "PrivateDevices=true",
  "KeyringMode=private",
];

export function systemdUnit(template: string, service: ServiceDescription): string {
  const { name, command, dir, environment, scope, user, writable } = service;
  return fillTemplate(template, {
    NAME: name,
    EXEC: command.map((word, index) => quoteWord(word, index > 0)).join(" "),
    DIR: escapePath(dir),
    ENVIRONMENT: Object.entries(environment)
      .map(([key, value]) => quoteWord(`${key}=${value}`, false))
      .join(" "),
    USER: scope === "system" && user !== null ? `User=${user}\n` : "",
    MACHINE: scope === "system" ? [...MACHINE, ...writable.map(writablePath), ""].join("\n") : "",
    STOP_SECONDS: String(service.stopSeconds),
    TARGET: scope === "system" ? "multi-user.target" : "default.target",
  });
}

function writablePath(path: string): string {
  return `ReadWritePaths=${quoteWord(path, false)}`;
}

/** One word in double quotes: C-style escapes, `%%` for a percent sign, and `$$` where variables are replaced. */
function quoteWord(word: string, variables: boolean): string {
  refuseControls(word);
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${variables ? escaped.replaceAll("$", "$$$$") : escaped}"`;
}

/** A path that stands alone takes specifiers and no quotes; spaces at its ends would be lost. */
function escapePath(path: string): string {
  refuseControls(path);
  if (path !== path.trim() || path.endsWith("\\"))
    throw new Error(`A unit cannot name the path ${JSON.stringify(path)}.`);
  return path.replaceAll("%", "%%");
}

/** A line break would begin another setting. */
function refuseControls(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new Error("A unit cannot hold control characters.");
}
