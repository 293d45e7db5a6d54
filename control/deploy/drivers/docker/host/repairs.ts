/** What Docker's own command does for a container that was changed by hand, where the engine's provider would make a new one. */

import { type DockerHost, dockerFailure, tryDocker } from "../../../images/docker-cli.ts";
import type { Report } from "../../../inspection.ts";
import type { FoundContainer } from "./found-container.ts";
import { type FoundThing, removeContainer } from "./inventory.ts";
import type { RecordedSettings } from "./settings.ts";

/** Milliseconds: a container that is stopped gets its own time. */
const STOP_MS = 10 * 60_000;

export async function start(id: string, host: DockerHost, signal: AbortSignal): Promise<void> {
  await run(["container", "start", id], host, signal);
}

export async function unpause(id: string, host: DockerHost, signal: AbortSignal): Promise<void> {
  await run(["container", "unpause", id], host, signal);
}

export async function rename(id: string, name: string, host: DockerHost, signal: AbortSignal): Promise<void> {
  await run(["container", "rename", id, name], host, signal);
}

/** Gives a container the limits that it was made with. */
export async function restoreLimits(
  id: string,
  { memory, memorySwap, cpuPeriod, cpuQuota, pids, restart }: RecordedSettings,
  host: DockerHost,
  signal: AbortSignal,
): Promise<void> {
  const flags = [
    ...(memory === 0 ? [] : [`--memory=${memory}`, `--memory-swap=${memorySwap}`]),
    ...(cpuQuota === 0 ? [] : [`--cpu-period=${cpuPeriod}`, `--cpu-quota=${cpuQuota}`]),
    ...(pids === null ? [] : [`--pids-limit=${pids}`]),
    `--restart=${restart}`,
  ];
  await run(["container", "update", ...flags, id], host, signal);
}

/** Takes the name from a container. One of this stack is removed, since nothing in it lasts; any other one stops and stays. */
export async function setAside(
  { id, name, stack }: FoundContainer,
  own: string,
  host: DockerHost,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  if (stack === own) return removeContainer(id, host, signal);
  const aside = `${name}.aside-${id.slice(0, 12)}`;
  await run(["container", "update", "--restart=no", id], host, signal);
  await run(["container", "stop", id], host, signal, STOP_MS);
  await rename(id, aside, host, signal);
  report(`The container that stood under the name ${name} is stopped and called ${aside} now.`);
}

/** Removes a network that stands under the stack's name. Containers of the stack leave it; another one on it is an error. */
export async function replaceNetwork(
  network: FoundThing,
  own: string,
  host: DockerHost,
  signal: AbortSignal,
): Promise<void> {
  const listed = await run(
    ["container", "ls", "--all", "--quiet", `--filter=label=cairn.stack=${own}`, `--filter=network=${network.id}`],
    host,
    signal,
  );
  for (const id of listed.split("\n").filter((line) => line !== "")) {
    await run(["network", "disconnect", "--force", network.id, id], host, signal);
  }
  await run(["network", "rm", network.id], host, signal);
}

async function run(
  args: readonly string[],
  host: DockerHost,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<string> {
  const { ok, stdout, stderr } = await tryDocker(args, { host, signal }, timeoutMs);
  if (!ok) throw dockerFailure(stderr, `docker ${args.slice(0, 2).join(" ")}`, host);
  return stdout;
}
