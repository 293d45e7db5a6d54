/** What doctor needs of a deployment's surroundings. The one implementation reads only files and tools of this machine. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineLock } from "../../deploy/engine/engine.ts";
import { readEngineLocks } from "../../deploy/engine/locks.ts";
import { stateFolder } from "../../deploy/files.ts";
import { isAlive } from "../../service/processes.ts";
import { userUnits } from "../../service-manager/unit-folders.ts";
import { readRegularFile } from "./regular-file.ts";
import { sandboxProblem } from "./sandbox.ts";
import { findTool, runTool } from "./tools.ts";

export interface DeploymentProbe {
  /** Whether a program is on the path. */
  hasTool(name: string): Promise<boolean>;
  /** Null when the engine answers, else why it does not. `host` is `local` or `ssh://...`; only the local one is called. */
  dockerProblem(signal: AbortSignal): Promise<string | null>;
  /** Null when agents' commands can be put into a sandbox here, else why not, as a clause. */
  sandboxProblem(signal: AbortSignal): Promise<string | null>;
  /** The service manager's definition of the node; null when there is none. */
  serviceUnit(): Promise<ServiceUnit | null>;
  /** Locks of the deployment's stacks, in the state that lies beside the configuration. */
  stackLocks(dir: string): Promise<readonly StackLock[]>;
}

export interface ServiceUnit {
  readonly path: string;
  readonly text: string;
}

export interface StackLock extends EngineLock {
  /** Whether its process exists; null when that is another machine's. */
  readonly alive: boolean | null;
}

export interface ProbeInput {
  readonly hostname: string;
  readonly userHome: string | undefined;
  /** XDG_CONFIG_HOME. */
  readonly configHome?: string | undefined;
  /** Where unit files are; absent: the usual places. */
  readonly unitFolders?: readonly string[];
}

const UNIT = /^(?:.*[.-])?cairn(?:[.@-].*)?\.(?:service|plist)$/i;

export function localProbe({ hostname, userHome, configHome, unitFolders }: ProbeInput): DeploymentProbe {
  const folders = unitFolders ?? usualFolders(userHome, configHome);
  return {
    async hasTool(name) {
      return (await findTool(name)) !== null;
    },
    async dockerProblem(signal) {
      const { code, stderr } = await runTool("docker", ["version", "--format", "{{.Server.Version}}"], { signal });
      return code === 0 ? null : (stderr.trim().split("\n")[0] ?? `exit code ${code}`);
    },
    sandboxProblem: (signal) => sandboxProblem(signal),
    async serviceUnit() {
      for (const folder of folders) {
        for (const name of (await readdir(folder).catch(() => [])).filter((entry) => UNIT.test(entry)).sort()) {
          const text = await readRegularFile(join(folder, name)).catch(() => null);
          if (text !== null) return { path: join(folder, name), text };
        }
      }
      return null;
    },
    async stackLocks(dir) {
      const locks = await readEngineLocks(stateFolder(dir));
      return locks.map((lock) => ({ ...lock, alive: lock.host === hostname ? isAlive(lock.pid) : null }));
    },
  };
}

function usualFolders(userHome: string | undefined, configHome: string | undefined): string[] {
  const system = ["/etc/systemd/system", "/usr/lib/systemd/system", "/Library/LaunchDaemons"];
  if (userHome === undefined) return system;
  return [userUnits(userHome, configHome), join(userHome, "Library", "LaunchAgents"), ...system];
}
