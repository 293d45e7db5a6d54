/**
 * Work on a Docker host that may take any time: it ends where the host stops answering. Docker's own SSH connection notices a host
 * that has gone silent only when the kernel does, after a quarter of an hour or never.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseDockerHost } from "../../../../../infra/components/docker/address.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DockerEngine } from "../../../images/docker-cli.ts";
import { runRemote } from "./ssh.ts";

/** Milliseconds between two looks at the host. */
const PROBE_MS = 20_000;
/** One that fails may be the network's; so many in succession are not. */
const PROBES = 2;

/**
 * `work` gets a signal that it has to end by. Rejects with the reason of `signal`, and with INFRA_HOST_UNREACHABLE where the host is
 * reached over SSH and does not answer any more; engines of another kind are not watched.
 */
export async function whileReachable<T>(
  host: DockerEngine,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  probeMs: number = PROBE_MS,
): Promise<T> {
  const ssh = typeof host === "string" && host.startsWith("ssh://") ? parseDockerHost(host) : null;
  if (ssh === null) return work(signal);
  const done = new AbortController();
  const lost = new AbortController();
  const watch = async (): Promise<void> => {
    for (let failed = 0; ; ) {
      await sleep(probeMs, undefined, { signal: done.signal });
      try {
        await runRemote(ssh, ["true"], done.signal);
        failed = 0;
      } catch (error) {
        done.signal.throwIfAborted();
        failed += 1;
        if (failed < PROBES || !(error instanceof InfraError)) continue;
        lost.abort(error);
        return;
      }
    }
  };
  // It ends by its own abort.
  const watching = watch().catch(() => undefined);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } catch (error) {
    signal.throwIfAborted();
    // What the work says of its end is that it was ended.
    lost.signal.throwIfAborted();
    throw error;
  } finally {
    done.abort();
    await watching;
  }
}
