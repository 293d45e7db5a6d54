/** What isolates a command from the machine: bubblewrap, Landlock in the service's own container, or nothing. */

import { readdir, readFile, realpath } from "node:fs/promises";
import type { Logger } from "../../../contracts/ports.ts";
import { bubblewrapArguments, FILTER_DESCRIPTOR, type Hardening, type SystemMount } from "./bubblewrap.ts";
import { DEVICES, landlockOptions, landlockWorks, openPaths, wouldShow } from "./landlock.ts";
import { EMPTY_LAYOUT, resolveProtected, SYSTEM_DIRECTORIES, SYSTEM_FILES } from "./machine.ts";
import { firstExecutable } from "./probe.ts";
import { commandFilter, type ServiceProcesses } from "./seccomp.ts";
import type { ShellSettings } from "./settings.ts";

export interface CommandPlace {
  /** The workspace as the context names it, and resolved. */
  readonly workspace: { readonly named: string; readonly resolved: string };
  /** Working directory, resolved, inside the workspace. */
  readonly cwd: string;
  /** Whether it is a command of the owner's turn: other users' commands share no directory. */
  readonly owner: boolean;
  /** Whether the command may use the network. */
  readonly network: boolean;
}

export interface Passage {
  readonly network: boolean;
  /** Whether the filter of system calls waits at FILTER_DESCRIPTOR. */
  readonly filtered: boolean;
}

export interface Walls {
  /** True when commands have namespaces of their own, processes and network included. */
  readonly confined: boolean;
  /** A process that a command must not be able to signal, as the command would name it; null where there is no such wall. */
  readonly untouchable: number | null;
  /** The filter of system calls; null where there is none. */
  filter(may: Pick<CommandPlace, "network" | "owner">): Promise<Buffer | null>;
  /** The command in its walls; with null for the place, one that sees the system alone. */
  wrap(command: readonly string[], place: CommandPlace | null, passage: Passage): Promise<readonly string[]>;
}

/** Where a container's commands meet; the last one is what the nodes share (datahub.shared_storage). */
const SHARED_PLACES = ["/tmp", "/dev/shm", "/srv/shared"];

export const NO_WALLS: Walls = {
  confined: false,
  untouchable: null,
  filter: async () => null,
  wrap: async (command) => command,
};

export interface WallDeps {
  readonly settings: ShellSettings;
  readonly protectedPaths: readonly string[];
  readonly logger: Logger;
}

export function bubblewrapWalls(
  { settings, protectedPaths }: WallDeps,
  bubblewrap: { readonly file: string; readonly hardening: Hardening },
  system: readonly SystemMount[],
): Walls {
  return {
    confined: true,
    // The first process of the sandbox, which is bubblewrap's own.
    untouchable: 1,
    // The namespaces remove the network, hide the service and keep commands apart.
    filter: async () => commandFilter({ architecture: process.arch, network: true, apart: false, service: null }),
    async wrap(command, place, { network, filtered }) {
      const { hardening } = bubblewrap;
      const layout =
        place === null
          ? EMPTY_LAYOUT
          : {
              readOnly: await Promise.all(
                settings.readOnlyPaths.map(async (path) => ({
                  path,
                  resolved: await realpath(path).catch(() => path),
                })),
              ),
              workspace: {
                source: place.workspace.resolved,
                mountedAt: [...new Set([place.workspace.named, place.workspace.resolved])],
              },
              protectedPaths: await resolveProtected(protectedPaths),
              cwd: place.cwd,
              network,
            };
      return [bubblewrap.file, ...bubblewrapArguments({ ...layout, system, hardening, filtered }, command)];
    },
  };
}

/** `refuse` makes the error for a workspace around the service's own files. */
export async function containerWalls(
  { settings, protectedPaths, logger }: WallDeps,
  refuse: (problem: string) => Error,
): Promise<Walls> {
  const setpriv = await firstExecutable(settings.setprivPaths);
  const landlock = setpriv !== null && (await landlockWorks(setpriv));
  if (!landlock) {
    const hint = "use a base image with util-linux 2.40 or newer, such as Debian 13";
    logger.warn({ hint }, "agents' commands can read the service's own files in this container");
  }
  const system = [
    ...DEVICES.map((path) => ({ path, writable: true })),
    ...["/proc", ...SYSTEM_DIRECTORIES, ...SYSTEM_FILES].map((path) => ({ path, writable: false })),
  ];

  async function openTo(place: CommandPlace) {
    const [workspace, ...others] = await openPaths([
      { path: place.workspace.resolved, writable: true },
      ...(place.owner ? SHARED_PLACES : []).map((path) => ({ path, writable: true })),
      ...system,
      ...settings.readOnlyPaths.map((path) => ({ path, writable: false })),
    ]);
    const secrets = (await resolveProtected(protectedPaths)).map(({ path }) => path);
    if (workspace === undefined || wouldShow(workspace, secrets)) {
      throw refuse("the service's own files lie inside the workspace");
    }
    return [workspace, ...others.filter((path) => !wouldShow(path, secrets))];
  }

  return {
    confined: false,
    untouchable: process.pid,
    filter: async ({ network, owner }) =>
      setpriv === null
        ? null
        : commandFilter({
            architecture: process.arch,
            network,
            apart: !owner,
            service: await serviceProcesses(),
          }),
    async wrap(command, place, { filtered }) {
      if (place !== null && !place.owner && !(landlock && filtered)) {
        throw refuse(
          "commands of other users than the owner need Landlock and a filter of system calls in a container",
        );
      }
      if (setpriv === null || !(landlock || filtered)) return command;
      const open = place === null ? await openPaths(system) : await openTo(place);
      return [
        setpriv,
        "--no-new-privs",
        ...(filtered ? ["--seccomp-filter", `/proc/self/fd/${FILTER_DESCRIPTOR}`] : []),
        ...(landlock ? landlockOptions(open) : []),
        "--",
        ...command,
      ];
    },
  };
}

/** This process, what started it, and the container's first one. */
async function serviceProcesses(): Promise<ServiceProcesses> {
  const processes = [...new Set([process.pid, process.ppid, 1])].filter((pid) => pid > 0);
  const found = await Promise.all(
    processes.map(async (pid) => {
      const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      // pid (command) state ppid pgrp ...: the command may hold spaces and parentheses.
      const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
      return { threads: [pid, ...threads.map(Number)], groups: group > 0 ? [group] : [] };
    }),
  );
  const distinct = (numbers: readonly number[]) => [...new Set(numbers)];
  return {
    threads: distinct(found.flatMap(({ threads }) => threads)),
    groups: distinct([...processes, ...found.flatMap(({ groups }) => groups)]),
  };
}
