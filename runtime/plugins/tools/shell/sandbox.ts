/** Turns a command into a program to start: in the walls that the machine offers, within bounds, with a filter of system calls. */

import { type FileHandle, readFile } from "node:fs/promises";
import { ToolError } from "../../../contracts/errors.ts";
import type { Logger, NewId } from "../../../contracts/ports.ts";
import { SANDBOX_HOME } from "./bubblewrap.ts";
import { inheritableDescriptors, START_DESCRIPTOR } from "./descriptors.ts";
import { commandEnvironment } from "./environment.ts";
import { openFilter } from "./filter-file.ts";
import { boundArguments, type HardLimits, hardLimits, UNBOUNDED_PROBE } from "./limits.ts";
import { inspectMachine, type Machine } from "./machine.ts";
import { firstExecutable, succeeds } from "./probe.ts";
import type { ShellSettings } from "./settings.ts";
import { SCOPE_ENVIRONMENT, scopeArguments } from "./signal-scope.ts";
import { bubblewrapWalls, type CommandPlace, containerWalls, NO_WALLS, type Walls } from "./walls.ts";

export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** True when the process lives in a namespace of its own, which ends with it. */
  readonly confined: boolean;
  /** The filter of system calls that the program reads from descriptor 3; closed by the caller. */
  readonly filter: FileHandle | null;
  /** Descriptors that the service's own launcher left open. */
  readonly inherited: readonly number[];
}

export interface Sandbox {
  /** TOOL_SANDBOX_MISSING when the configured sandbox is not to be had. */
  launch(command: string, place: CommandPlace): Promise<Launch>;
}

export interface SandboxDeps {
  readonly settings: ShellSettings;
  /** Whether the service runs in a container of its own, as it was configured; never guessed. */
  readonly container: boolean;
  readonly protectedPaths: readonly string[];
  /** A directory of the service's own, which commands cannot reach. */
  readonly stateDirectory: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly newId: NewId;
  readonly logger: Logger;
}

/**
 * One merged output, and no descriptor but the usual three. Where the service was killed before the walls end with it, the
 * command would run for ever: it begins with the service's answer. bubblewrap's first process is the last to ask for its
 * parent's death, about when this runs: a word to the service alone would be too early.
 */
const ASK = `echo >&${START_DESCRIPTOR} && read -r _ <&${START_DESCRIPTOR}`;
const START = `${ASK} && exec "$0" -c "$1" 2>&1 3<&- ${START_DESCRIPTOR}<&-`;

/** Where HOME points in a container. Never the service's own home: Node loads modules from there. */
const CONTAINER_HOME = "/tmp";

/** The highest: where memory runs out, the kernel ends commands first and the service last. */
const OUT_OF_MEMORY_SCORE = "1000";

/** What is put around commands besides their walls. Null: not to be had here. */
interface Equipment {
  readonly walls: Walls;
  readonly filtered: boolean;
  readonly perl: string | null;
  readonly prlimit: string | null;
  readonly choom: string | null;
  readonly hard: HardLimits;
  readonly inherited: readonly number[];
}

export function createSandbox(deps: SandboxDeps): Sandbox {
  const { settings, logger } = deps;
  let probed: Promise<Machine> | undefined;
  const equipped = new Map<"bubblewrap" | "container" | "none", Promise<Equipment>>();

  /** Probed once; a failure is probed again, so that installing the package is enough. */
  async function machine(): Promise<Machine> {
    probed ??= inspectMachine(settings.bubblewrapPaths, logger);
    const current = probed;
    const found = await current;
    if (found.bubblewrap.problem !== undefined && probed === current) probed = undefined;
    return found;
  }

  async function equipment(found: Machine): Promise<Equipment> {
    const { bubblewrap, system } = found;
    const works = settings.sandbox !== "none" && bubblewrap.problem === undefined;
    const kind = works ? "bubblewrap" : settings.sandbox === "auto" && deps.container ? "container" : "none";
    if (kind === "none" && settings.sandbox !== "none") {
      throw missing(bubblewrap.problem ?? "bubblewrap does not work");
    }
    const cached = equipped.get(kind);
    if (cached) return await cached;
    const pending = (async () => {
      if (works) return await equip(deps, bubblewrapWalls(deps, bubblewrap, system));
      return await equip(deps, kind === "container" ? await containerWalls(deps, missing) : NO_WALLS);
    })();
    equipped.set(kind, pending);
    // What failed by chance (no memory, no descriptors) is tried again with the next command.
    pending.catch(() => equipped.delete(kind));
    return await pending;
  }

  return {
    async launch(command, place) {
      const found = await machine();
      const { walls, filtered, perl, prlimit, choom, hard, inherited } = await equipment(found);
      // Fails closed: no command rather than one with more access than the owner allows.
      if (!place.network && !walls.confined && !filtered) throw openNetwork(settings);
      const start = ["/bin/sh", "-c", START, found.shell, command];
      const bounded = prlimit === null ? start : [prlimit, ...boundArguments(settings, hard, start)];
      const scoped = perl === null ? bounded : [perl, ...scopeArguments(bounded)];
      const walled = await walls.wrap(scoped, place, { network: place.network, filtered });
      const [file = "/bin/sh", ...args] = choom === null ? walled : [choom, "-n", OUT_OF_MEMORY_SCORE, "--", ...walled];
      const { hostEnv } = deps;
      const { confined } = walls;
      const inContainer = !confined && settings.sandbox === "auto";
      // In a container other users' commands share neither a home nor /tmp with the owner's.
      const apart = inContainer && !place.owner;
      const ownHome = inContainer ? CONTAINER_HOME : hostEnv["HOME"];
      return {
        file,
        args,
        cwd: confined ? "/" : place.cwd,
        env: {
          ...commandEnvironment({
            host: hostEnv,
            configured: settings.env,
            home: confined ? SANDBOX_HOME : ((apart ? undefined : ownHome) ?? place.workspace.resolved),
            shell: found.shell,
            sandboxed: confined,
            ...(apart ? { temporary: place.workspace.resolved } : {}),
          }),
          ...(perl === null ? {} : SCOPE_ENVIRONMENT),
        },
        confined,
        inherited,
        // Last, because it is open from here on.
        filter: filtered ? await filterFor(deps, walls, place) : null,
      };
    },
  };
}

/** Tries out what the sandbox enforces, and logs what it does not. */
async function equip(deps: SandboxDeps, walls: Walls): Promise<Equipment> {
  const { settings, logger } = deps;
  const passage = { network: true, filtered: false };
  const works = async (command: readonly string[]) => {
    const [file = "", ...args] = await walls.wrap(command, null, passage);
    return await succeeds(file, args);
  };
  // A signal that must not arrive shows whether a filter or scope is really in force.
  const untouched = ["/bin/sh", "-c", `! kill -0 ${walls.untouchable}`];

  const perl = walls.untouchable === null ? null : await firstExecutable(settings.perlPaths);
  const scoped = perl !== null && (await works([perl, ...scopeArguments(untouched)]));
  const filtered = await filterWorks(deps, walls, walls.confined ? ["/bin/sh", "-c", "exit 0"] : untouched);
  if (walls.untouchable !== null && !filtered) {
    const hint = "util-linux 2.41 or newer loads it, on x86-64 and arm64";
    logger.warn({ hint }, "system calls of agents' commands are not filtered");
  }
  if (!walls.confined && walls.untouchable !== null && !scoped) {
    const hint = "Linux 6.12 or newer and perl in the image keep signals away";
    logger.warn({ hint, filtered }, "agents' commands may be able to signal the service in this container");
  }

  const prlimit = await firstExecutable(settings.prlimitPaths);
  const choom = await firstExecutable(settings.choomPaths);
  if (prlimit === null || choom === null) {
    logger.warn({ hint: "install util-linux" }, "agents' commands have no bounds on processes and memory");
  } else if (await works([prlimit, ...UNBOUNDED_PROBE])) {
    const hint = "run the service as an ordinary user, or bound its unit with TasksMax";
    logger.warn({ hint }, "the bound on processes does not hold: Linux has none for root");
  }
  // Both stay what they were when the service was started.
  const hard = hardLimits(await readFile("/proc/self/limits", "utf8").catch(() => ""));
  const inherited = await inheritableDescriptors();
  return { walls, filtered, perl: scoped ? perl : null, prlimit, choom, hard, inherited };
}

async function filterWorks(deps: SandboxDeps, walls: Walls, test: readonly string[]): Promise<boolean> {
  const handle = await filterFor(deps, walls, { network: true, owner: true });
  if (handle === null) return false;
  try {
    const [file = "", ...args] = await walls.wrap(test, null, { network: true, filtered: true });
    return await succeeds(file, args, handle.fd);
  } finally {
    await handle.close();
  }
}

async function filterFor(
  deps: SandboxDeps,
  walls: Walls,
  may: Pick<CommandPlace, "network" | "owner">,
): Promise<FileHandle | null> {
  const filter = await walls.filter(may);
  return filter === null ? null : await openFilter(deps.stateDirectory, deps.newId(), filter);
}

function missing(problem: string): ToolError {
  return new ToolError("TOOL_SANDBOX_MISSING", `Commands cannot be run safely here: ${problem}.`, {
    hint:
      "The owner can install the package bubblewrap and allow unprivileged user namespaces, " +
      "or set tools.shell.sandbox to none to run commands without a sandbox.",
  });
}

function openNetwork({ network }: ShellSettings): ToolError {
  const [setting, why] = network
    ? ["tools.shell.network_for_others", "commands of others than the owner have no network"]
    : ["tools.shell.network", "commands have no network"];
  return new ToolError("TOOL_SANDBOX_MISSING", `Commands cannot be run here: ${why}, which cannot be enforced here.`, {
    hint: `The owner can install the package bubblewrap, or set ${setting} to true.`,
  });
}
