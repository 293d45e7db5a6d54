/** One node's change through its driver: drained, swapped, tested, and watched for a while; the same way back. */

import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { FencingToken, NodeDriver, NodeObservation, RolloutClock } from "./contracts.ts";
import type { FleetStep } from "./fleet-steps.ts";
import type { HeldLease } from "./lease.ts";
import type { NodeChange, Step } from "./rollback.ts";

/** Milliseconds for which a node has to stay ready after its gate, and between two looks at it. */
const STEADY_MS = 30_000;
const POLL_MS = 5_000;
/** Looks in a row at which a node is not ready, before that counts: one may meet a database that starts anew, or a busy machine. */
const MAX_UNREADY = 2;
/** Milliseconds for which a host is asked again that does not answer, and between two attempts. */
const UNREACHABLE_MS = 120_000;
const RETRY_MS = 5_000;
/** Milliseconds after which a node that was drained and not swapped serves again: longer than a swap takes. */
const HOLD_MS = 900_000;

/** What commands to nodes need. `signal` aborts when the lease is lost, too. */
export interface Commands {
  readonly clock: RolloutClock;
  readonly lease: HeldLease;
  readonly signal: AbortSignal;
}

/** `to` and `from`: images. From null there is no way back. */
export function changeOf(
  commands: Commands,
  driver: NodeDriver,
  { to, from }: { readonly to: string; readonly from: string | null },
  rules: Pick<NodeChange<FleetStep>, "record" | "isUnrelated">,
): NodeChange<FleetStep> {
  const { name } = driver;
  const give = (step: FleetStep, image: string): Step<FleetStep> => ({
    name: step,
    run: () => giveImage(commands, driver, image),
  });
  const test = (step: FleetStep, image: string): Step<FleetStep> => ({
    name: step,
    run: () => testNode(commands, driver, image),
  });
  return {
    ...rules,
    forward: [give(`apply ${name}`, to), test(`gate ${name}`, to)],
    back: from === null ? null : [give(`back ${name}`, from), test(`gate-former ${name}`, from)],
  };
}

export function isUnreachable(error: unknown): boolean {
  return codeOf(error) === "INFRA_HOST_UNREACHABLE";
}

/** Every older command is refused there from then on. */
export async function fenceNode(commands: Commands, driver: NodeDriver): Promise<void> {
  await issue(commands, (token) => driver.fence(token, commands.signal));
}

export function observeNode({ clock, signal }: Commands, driver: NodeDriver): Promise<NodeObservation> {
  return whileUnreachable(clock, signal, () => driver.observe(signal));
}

/** Nothing where the node serves with it already. */
async function giveImage(commands: Commands, driver: NodeDriver, image: string): Promise<void> {
  const { signal } = commands;
  const seen = await observeNode(commands, driver);
  if (seen.image === image && seen.ready) return;
  if (seen.image !== null) await issue(commands, (token) => driver.drain(token, HOLD_MS, signal));
  await issue(commands, (token) => driver.swap(image, token, signal));
}

async function testNode(commands: Commands, driver: NodeDriver, image: string): Promise<void> {
  const { clock, signal } = commands;
  await whileUnreachable(clock, signal, () => driver.gate(image, signal));
  let instance: string | null = null;
  let unreadyCount = 0;
  for (let watched = 0; ; watched += POLL_MS) {
    const seen = await observeNode(commands, driver);
    unreadyCount = seen.ready ? 0 : unreadyCount + 1;
    if (seen.ready) instance ??= seen.instance;
    const why = unsteady(seen, image, instance, unreadyCount);
    if (why !== null) {
      throw new RuntimeError("RUNTIME_START_FAILED", `The node did not stay ready for ${STEADY_MS / 1_000} s: ${why}.`);
    }
    if (watched >= STEADY_MS && seen.ready) return;
    await clock.sleep(POLL_MS, signal);
  }
}

/** Why a node does not count as one that works; null: it does. `instance`: of the process that was ready first. */
function unsteady(seen: NodeObservation, image: string, instance: string | null, unreadyCount: number): string | null {
  if (seen.image !== image) return seen.image === null ? "it is gone" : "it runs another image";
  // What does not answer does not say when it was started.
  if (seen.ready && seen.instance !== instance) return "it was started anew";
  return unreadyCount < MAX_UNREADY ? null : "it does not say that it is ready";
}

/** Each attempt has a token of its own: the host then refuses a former one that was only late. */
function issue({ clock, lease, signal }: Commands, command: (token: FencingToken) => Promise<void>): Promise<void> {
  return whileUnreachable(clock, signal, () => command(lease.token()));
}

/** Asks again for a while. */
async function whileUnreachable<T>(clock: RolloutClock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const began = clock.monotonic();
  for (;;) {
    try {
      signal.throwIfAborted();
      return await work();
    } catch (error) {
      if (!isUnreachable(error) || clock.monotonic() - began >= UNREACHABLE_MS) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}
