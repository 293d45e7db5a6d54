/** A node of a stack as a rollout drives it: through its HTTP interface, the target's driver and the engine. */

import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import type { Client } from "../../../../runtime/client/index.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { FencingToken, NodeDriver, NodeObservation } from "../../../rollout/contracts.ts";
import type { FleetDoor } from "../../../rollout/fleet-database.ts";
import { type Call, drainNode, healthOf } from "../../../rollout/node-calls.ts";
import type { ObservedNode } from "../../inspection.ts";
import type { ReadProject } from "../services.ts";
import { type AppliedImages, swapPod } from "./fleet-pod.ts";
import { nodeOfMember } from "./members.ts";
import {
  applyTo,
  type Former,
  formerProject,
  formerWith,
  imageName,
  isNamed,
  type NodeRun,
  pass,
} from "./node-change.ts";

/** Milliseconds after which a pod that was drained beside another one serves again by itself: longer than that one's change takes. */
const HOLD_MS = 900_000;

/** Runs what nodes may not do side by side. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export interface NodeRunInTurn {
  readonly run: NodeRun;
  readonly inTurn: InTurn;
  readonly applied: AppliedImages;
}

/** `name`: of a node, or of a pod. `to`: the image that it is to get; without `change` it can be looked at alone. Errors as NodeDriver says. */
export function fleetNode(former: Former, to: ImageIdentity, name: string, change?: NodeRunInTurn): NodeDriver {
  const { session, project: planned } = former;
  const { services } = session.run;
  const { podRollout: pods } = session.driver;
  const node = nodeOfMember(session.driver, planned.plan, name);

  /** With the image under the name by which a rollout knows it. */
  async function seen(signal: AbortSignal): Promise<ObservedNode> {
    const found = await (pods === undefined
      ? session.driver.observe(signal).then((all) => all.find((one) => one.name === name))
      : pods.observe(name, signal));
    if (found === undefined) throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${name}.`);
    if (found.state === "unknown") {
      throw new InfraError("INFRA_HOST_UNREACHABLE", `The host of ${name} does not answer (${found.place}).`);
    }
    const images = [to, ...(await formerImages())];
    const match = images.find((image) => found.image !== null && isNamed(image, found.image));
    return match === undefined ? found : { ...found, image: imageName(match) };
  }

  /** What is recorded here may be from before a rollout of another machine. */
  async function formerImages(): Promise<ImageIdentity[]> {
    const had = (await formerProject(former, node))?.plan.nodes.find((one) => one.name === node)?.image;
    return [had, former.images[node]].flatMap((image) => image ?? []);
  }

  /** Null where nothing is known of what it had before with this image. */
  async function projectWith(image: string): Promise<ReadProject | null> {
    return image === imageName(to) ? planned : formerWith(former, node, image);
  }

  /** What the node had may be reached in another way than what it is to get. */
  async function projectFor(image: string | null): Promise<ReadProject> {
    return (image === null ? null : await projectWith(image)) ?? (await formerProject(former, node)) ?? planned;
  }

  async function call<T>(image: string | null, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    const project = await projectFor(image);
    const driver = await services.createDriver(project);
    return services.nodes.call({ project, driver, node, member: name }, signal, work);
  }

  async function observe(signal: AbortSignal): Promise<NodeObservation> {
    const { state, image, version, since } = await seen(signal);
    if (state === "missing") return { image: null, version: null, ready: false, instance: "" };
    const ask: Call = (until, work) => call(image, until, work);
    const said = state === "running" ? await healthOf(ask, services.sleep, signal).catch(() => null) : null;
    signal.throwIfAborted();
    return {
      image,
      version: said?.version ?? version,
      ready: said?.ready === true,
      instance: `${since} ${said?.started_at ?? ""}`,
    };
  }

  return {
    name,
    observe,
    fence: (token, signal) => session.driver.fence(name, { token, stop: false }, signal),
    async drain(token, holdMs, signal) {
      const { state, image } = await seen(signal);
      if (state !== "running") return;
      session.phase("drain", `Letting the turns of ${name} end`);
      const door = { name, call: (until, work) => call(image, until, work) } satisfies FleetDoor;
      const stopTimeoutS = planned.plan.nodes.find((one) => one.name === node)?.stopTimeoutS ?? 0;
      await drainNode(door, { token, holdMs, stopTimeoutS, warn: session.warn }, signal);
    },
    async swap(image, token, signal) {
      const words = image === imageName(to) ? "Changing" : "Going back:";
      const project = await projectWith(image);
      if (project === null || change === undefined) {
        throw new InfraError("INFRA_FAILED", `Nothing is known of what ${name} had before.`);
      }
      const { applied, inTurn } = change;
      const run = { ...change.run, leased: signal };
      if (pods !== undefined) {
        const swap = { pods, member: { name, node }, project, image, token, words, signal };
        return inTurn(() => swapPod(run, applied, { ...swap, drain: (pod) => drainOther(pod, token, signal) }));
      }
      // Not before its turn: until then it would be out of service for nothing, and the token might be of a former holder.
      await inTurn(async () => {
        session.phase("stop", `Stopping ${name}`);
        await session.driver.fence(name, { token, stop: true }, signal);
        await applyTo(run, project, name, words);
      });
    },
    async gate(image) {
      await pass(session, await projectFor(image), node, name);
    },
  };

  /** A pod that the cluster changes before this one. */
  function drainOther(pod: string, token: FencingToken, signal: AbortSignal): Promise<void> {
    return fleetNode(former, to, pod).drain(token, HOLD_MS, signal);
  }
}
