/** Finds out what the machine offers (bubblewrap, a shell, its system directories) and turns a command into a program to start. */

import { execFile } from "node:child_process";
import { access, constants, lstat, readlink, realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { ToolError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import {
  bubblewrapArguments,
  HARDENINGS,
  type Hardening,
  type ProtectedPath,
  SANDBOX_HOME,
  type SystemMount,
} from "./bubblewrap.ts";
import { commandEnvironment } from "./environment.ts";
import { DEVICES, findLandlock, type Landlock, landlockArguments, openPaths, wouldShow } from "./landlock.ts";
import type { ShellSettings } from "./settings.ts";

export interface CommandPlace {
  /** The workspace as the context names it, and resolved. */
  readonly workspace: { readonly named: string; readonly resolved: string };
  /** Working directory, resolved, inside the workspace. */
  readonly cwd: string;
  /** Whether it is a command of the owner's turn: other users' commands share no directory. */
  readonly owner: boolean;
}

export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** True when the process lives in a namespace of its own, which ends with it. */
  readonly confined: boolean;
}

export interface Sandbox {
  /** TOOL_SANDBOX_MISSING when the configured sandbox is not to be had. */
  launch(command: string, place: CommandPlace): Promise<Launch>;
}

export interface SandboxDeps {
  readonly settings: ShellSettings;
  /** Whether the service runs in a container of its own, as the host was told; never guessed. */
  readonly container: boolean;
  readonly protectedPaths: readonly string[];
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

const PROBE_TIMEOUT_MS = 10_000;
const SHELLS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash", "/bin/sh"];
const SYSTEM_DIRECTORIES = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /run/current-system".split(" ");
/** What programs need of /etc; the rest (password hashes, keys, configuration of other services) stays out. */
const SYSTEM_FILES = `
  alternatives ca-certificates ca-certificates.conf crypto-policies debian_version fonts group hosts host.conf
  gai.conf inputrc issue java ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf localtime magic
  mime.types nsswitch.conf os-release passwd pki/ca-trust pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf
  protocols python3 resolv.conf services ssl/cert.pem ssl/certs ssl/openssl.cnf terminfo timezone
`
  .trim()
  .split(/\s+/)
  .map((name) => `/etc/${name}`);

/** Where a container's commands meet; the last one is what the nodes share (datahub.shared_storage). */
const SHARED_PLACES = ["/tmp", "/dev/shm", "/srv/shared"];

/** Limits for the command and its children (no core dumps, a bound on processes), then the shell with one merged output. */
const START = 'ulimit -c 0; ulimit -u 4096 2>/dev/null; exec "$0" -c "$1" 2>&1';

const run = promisify(execFile);

export function createSandbox(deps: SandboxDeps): Sandbox {
  const { settings } = deps;
  let probed: Promise<Machine> | undefined;
  let walls: Promise<Landlock | null> | undefined;

  /** In a container of its own: what the command is wrapped into, or the command as it is where no walls can be made. */
  async function insideContainer(inner: readonly string[], place: CommandPlace): Promise<readonly string[]> {
    walls ??= findLandlock(settings.setprivPaths).then((found) => {
      if (found === null) {
        const hint = "use a base image with util-linux 2.40 or newer, such as Debian 13";
        deps.logger.warn({ hint }, "agents' commands can read the service's own files in this container");
      }
      return found;
    });
    const landlock = await walls;
    if (landlock === null && !place.owner) throw missing("commands of other users than the owner need Landlock in a container");
    if (landlock === null) return inner;
    const readable = ["/proc", ...SYSTEM_DIRECTORIES, ...SYSTEM_FILES, ...settings.readOnlyPaths];
    const [workspace, ...others] = await openPaths([
      { path: place.workspace.resolved, writable: true },
      ...[...(place.owner ? SHARED_PLACES : []), ...DEVICES].map((path) => ({ path, writable: true })),
      ...readable.map((path) => ({ path, writable: false })),
    ]);
    const secrets = (await resolveProtected(deps.protectedPaths)).map(({ path }) => path);
    if (workspace === undefined || wouldShow(workspace, secrets)) {
      throw missing("the service's own files lie inside the workspace");
    }
    const open = [workspace, ...others.filter((path) => !wouldShow(path, secrets))];
    return [landlock.file, ...landlockArguments(open, inner)];
  }

  /** Asked once; a failure is asked again, so that installing the package is enough. */
  async function machine(): Promise<Machine> {
    probed ??= inspectMachine(settings.bubblewrapPaths, deps.logger);
    const current = probed;
    const found = await current;
    if (found.bubblewrap.problem !== undefined && probed === current) probed = undefined;
    return found;
  }

  return {
    async launch(command, place) {
      const { shell, bubblewrap, system } = await machine();
      const inner = ["/bin/sh", "-c", START, shell, command];
      const wanted = settings.sandbox !== "none";
      if (wanted && bubblewrap.problem === undefined) {
        return {
          file: bubblewrap.file,
          args: bubblewrapArguments(
            {
              system,
              readOnly: settings.readOnlyPaths,
              workspace: {
                source: place.workspace.resolved,
                mountedAt: unique([place.workspace.named, place.workspace.resolved]),
              },
              protectedPaths: await resolveProtected(deps.protectedPaths),
              cwd: place.cwd,
              network: settings.network,
              hardening: bubblewrap.hardening,
            },
            inner,
          ),
          cwd: "/",
          env: commandEnvironment({
            host: deps.hostEnv,
            configured: settings.env,
            home: SANDBOX_HOME,
            shell,
            sandboxed: true,
          }),
          confined: true,
        };
      }
      const unconfined = settings.sandbox === "none" || (settings.sandbox === "auto" && deps.container);
      if (!unconfined) throw missing(bubblewrap.problem ?? "bubblewrap does not work");
      // Better no command than one that goes where the owner said it must not.
      if (!settings.network && settings.sandbox === "auto") {
        throw missing("tools.shell.network is off, which only bubblewrap can enforce");
      }
      const walled = settings.sandbox === "auto";
      const [file = "/bin/sh", ...args] = walled ? await insideContainer(inner, place) : inner;
      const ownPlaces = walled && !place.owner;
      const home = (ownPlaces ? undefined : deps.hostEnv["HOME"]) ?? place.workspace.resolved;
      return {
        file,
        args,
        cwd: place.cwd,
        env: commandEnvironment({
          host: deps.hostEnv,
          configured: settings.env,
          home,
          shell,
          sandboxed: false,
          ...(ownPlaces ? { temporary: place.workspace.resolved } : {}),
        }),
        confined: false,
      };
    },
  };
}

interface Machine {
  readonly shell: string;
  readonly system: readonly SystemMount[];
  readonly bubblewrap:
    | { readonly file: string; readonly hardening: Hardening; readonly problem?: undefined }
    | { readonly problem: string };
}

async function inspectMachine(bubblewrapPaths: readonly string[], logger: Logger): Promise<Machine> {
  const shell = (await firstExecutable(SHELLS)) ?? "/bin/sh";
  const system = await systemMounts();
  const file = await firstExecutable(bubblewrapPaths);
  if (!file) return { shell, system, bubblewrap: { problem: "bubblewrap (bwrap) is not installed" } };
  let problem = "bubblewrap does not work";
  for (const hardening of HARDENINGS) {
    const said = await probe(file, system, hardening);
    if (said === null) {
      if (hardening !== HARDENINGS[0])
        logger.info({ file, problem, ...hardening }, "bubblewrap cannot do all of the sandbox");
      return { shell, system, bubblewrap: { file, hardening } };
    }
    problem = said;
  }
  return { shell, system, bubblewrap: { problem } };
}

/** Null when such a sandbox can really be made here; else what bubblewrap says. */
async function probe(file: string, system: readonly SystemMount[], hardening: Hardening): Promise<string | null> {
  const nothing = { readOnly: [], workspace: { source: "/", mountedAt: [] }, protectedPaths: [], cwd: "/" };
  const args = bubblewrapArguments({ ...nothing, system, hardening, network: false }, ["/bin/sh", "-c", "exit 0"]);
  try {
    await run(file, args, { timeout: PROBE_TIMEOUT_MS, killSignal: "SIGKILL", env: {} });
    return null;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim().split("\n").at(-1) : "";
    return said || "bubblewrap could not be started";
  }
}

function missing(problem: string): ToolError {
  return new ToolError("TOOL_SANDBOX_MISSING", `Commands cannot be run safely here: ${problem}.`, {
    hint:
      "The owner can install the package bubblewrap and allow unprivileged user namespaces, " +
      "or set tools.shell.sandbox to none to run commands without a sandbox.",
  });
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

async function resolveProtected(paths: readonly string[]): Promise<ProtectedPath[]> {
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

async function firstExecutable(candidates: readonly string[]): Promise<string | null> {
  for (const candidate of candidates) {
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return null;
}

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}
