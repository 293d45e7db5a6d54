/** What the machine offers commands: a shell, bubblewrap, its system directories. */

import { lstat, readlink, realpath } from "node:fs/promises";
import type { Logger } from "../../../contracts/ports.ts";
import {
  bubblewrapArguments,
  HARDENINGS,
  type Hardening,
  type ProtectedPath,
  type SandboxLayout,
  type SystemMount,
} from "./bubblewrap.ts";
import { firstExecutable, probe } from "./probe.ts";

export interface Machine {
  readonly shell: string;
  readonly system: readonly SystemMount[];
  readonly bubblewrap:
    | { readonly file: string; readonly hardening: Hardening; readonly problem?: undefined }
    | { readonly problem: string };
}

const SHELLS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash", "/bin/sh"];
export const SYSTEM_DIRECTORIES = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /run/current-system".split(
  " ",
);
/** What programs need of /etc; the rest (password hashes, keys, configuration of other services) stays out. */
export const SYSTEM_FILES = `
  alternatives ca-certificates ca-certificates.conf crypto-policies debian_version fonts group hosts host.conf
  gai.conf inputrc issue java ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf localtime magic
  mime.types nsswitch.conf os-release passwd pki/ca-trust pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf
  protocols python3 resolv.conf services ssl/cert.pem ssl/certs ssl/openssl.cnf terminfo timezone
`
  .trim()
  .split(/\s+/)
  .map((name) => `/etc/${name}`);

/** A sandbox that shows the system and nothing else: for trying out what works in one. */
export const EMPTY_LAYOUT: Omit<SandboxLayout, "system" | "hardening"> = {
  readOnly: [],
  workspace: { source: "/", mountedAt: [] },
  protectedPaths: [],
  cwd: "/",
  network: false,
  filtered: false,
};

export async function inspectMachine(bubblewrapPaths: readonly string[], logger: Logger): Promise<Machine> {
  const shell = (await firstExecutable(SHELLS)) ?? "/bin/sh";
  const system = await systemMounts();
  const file = await firstExecutable(bubblewrapPaths);
  if (!file) return { shell, system, bubblewrap: { problem: "bubblewrap (bwrap) is not installed" } };
  let problem = "bubblewrap does not work";
  for (const hardening of HARDENINGS) {
    const args = bubblewrapArguments({ ...EMPTY_LAYOUT, system, hardening }, ["/bin/sh", "-c", "exit 0"]);
    const { exitCode, complaint } = await probe(file, args);
    if (exitCode === 0) {
      if (hardening !== HARDENINGS[0])
        logger.warn({ file, problem, ...hardening }, "bubblewrap cannot do all of the sandbox");
      return { shell, system, bubblewrap: { file, hardening } };
    }
    problem = complaint || "bubblewrap could not be started";
  }
  return { shell, system, bubblewrap: { problem } };
}

/** The service's files and directories that exist, under their real names. */
export async function resolveProtected(paths: readonly string[]): Promise<ProtectedPath[]> {
  const found = await Promise.all(
    paths.map(async (path): Promise<ProtectedPath | null> => {
      const resolved = await realpath(path).catch(() => null);
      if (resolved === null) return null;
      const stats = await lstat(resolved).catch(() => null);
      return stats === null ? null : { path: resolved, kind: stats.isDirectory() ? "directory" : "file" };
    }),
  );
  return found.filter((path) => path !== null);
}

async function systemMounts(): Promise<SystemMount[]> {
  const mounts = await Promise.all(
    [...SYSTEM_DIRECTORIES, ...SYSTEM_FILES].map(async (path): Promise<SystemMount | null> => {
      const stats = await lstat(path).catch(() => null);
      if (!stats) return null;
      // /bin and its like are links into /usr; links of /etc may lead to places that are not shown, so their target is bound.
      if (stats.isSymbolicLink() && SYSTEM_DIRECTORIES.includes(path))
        return { kind: "link", path, target: await readlink(path) };
      return { kind: "directory", path };
    }),
  );
  return mounts.filter((mount) => mount !== null);
}
