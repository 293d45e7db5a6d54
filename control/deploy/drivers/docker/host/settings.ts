/** The limits of a container as the state records them, compared with those that it has. Pure. */

import type { RecordedResource } from "../../../engine/checkpoint.ts";
import { parseUrn } from "../../../engine/urn.ts";
import type { ContainerSettings } from "./found-container.ts";

const MIB = 1024 * 1024;
const COMMAND = "command:local:Command";

/** `pids` null: nothing records it. */
export type RecordedSettings = Omit<ContainerSettings, "pids"> & { readonly pids: number | null };

/** The limit on processes is in the command beside the container (infra/components/docker/pids.ts). */
export function recordedSettings(
  { urn, inputs }: RecordedResource,
  all: readonly RecordedResource[],
): RecordedSettings {
  const number = (name: string): number => (typeof inputs[name] === "number" ? inputs[name] : 0);
  const pids = all.find((one) => one.type === COMMAND && parseUrn(one.urn).name === `${parseUrn(urn).name}-pids`);
  const triggers = pids?.inputs["triggers"];
  const limit: unknown = Array.isArray(triggers) ? triggers[1] : null;
  return {
    memory: number("memory") * MIB,
    memorySwap: number("memorySwap") * MIB,
    cpuPeriod: number("cpuPeriod"),
    cpuQuota: number("cpuQuota"),
    restart: typeof inputs["restart"] === "string" ? inputs["restart"] : "no",
    pids: typeof limit === "number" ? limit : null,
  };
}

/** `words`: what differs; `removable`: whether Docker can undo it while the container lives, which is not so for a limit. */
export function changedSettings(
  recorded: RecordedSettings,
  found: ContainerSettings,
): { readonly words: readonly string[]; readonly removable: boolean } {
  const words: string[] = [];
  const note = (what: string, expected: number | string, observed: number | string): void => {
    words.push(
      `${what} ${observed === 0 ? "without a limit" : observed} instead of ${expected === 0 ? "none" : expected}`,
    );
  };
  const memory = (bytes: number): string | number => (bytes === 0 ? 0 : `${Math.round(bytes / MIB)} MiB`);
  if (recorded.memory !== found.memory) note("memory", memory(recorded.memory), memory(found.memory));
  const cpus = ({ cpuPeriod, cpuQuota }: Pick<ContainerSettings, "cpuPeriod" | "cpuQuota">): number =>
    cpuQuota <= 0 ? 0 : cpuQuota / (cpuPeriod || 100_000);
  if (cpus(recorded) !== cpus(found)) note("processors", cpus(recorded), cpus(found));
  if (recorded.pids !== null && recorded.pids !== found.pids) note("processes", recorded.pids, Math.max(found.pids, 0));
  if (recorded.restart !== found.restart) note("restart policy", recorded.restart, found.restart);
  const limited = (recorded.memory === 0 && found.memory !== 0) || (cpus(recorded) === 0 && cpus(found) !== 0);
  return { words, removable: !limited };
}
