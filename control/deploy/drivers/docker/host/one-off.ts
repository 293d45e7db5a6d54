/** A container that does one thing with data, and goes. */

import { type DockerCall, dockerFailure, tryDocker } from "../../../images/docker-cli.ts";

/** As the owner of the files, which may be anybody, without a network. What it prints is data: no log of the host keeps it. */
export const ONE_OFF = [
  "run",
  "--rm",
  "--network",
  "none",
  "--user",
  "0",
  "--security-opt",
  "no-new-privileges",
  "--read-only",
  "--log-driver",
  "none",
] as const;

/** Milliseconds. */
const REMOVE_MS = 30_000;

/**
 * `work` gets the flags of a container with this name, which no node's container has: one that a killed command has left goes first. When
 * `work` ends so does the container: Docker's command line leaves it at work when it is stopped, and it would still write.
 */
export async function withOneOff<T>(
  name: string,
  { host, signal }: Required<Pick<DockerCall, "host" | "signal">>,
  work: (flags: readonly string[]) => Promise<T>,
): Promise<T> {
  const remove = (during: AbortSignal) =>
    tryDocker(["container", "rm", "--force", "--", name], { host, signal: during });
  const { ok, stderr } = await remove(signal);
  if (!ok && !/no such container/i.test(stderr)) throw dockerFailure(stderr, "docker container rm", host);
  try {
    return await work([...ONE_OFF, "--name", name]);
  } finally {
    await remove(AbortSignal.timeout(REMOVE_MS)).catch(() => undefined);
  }
}
