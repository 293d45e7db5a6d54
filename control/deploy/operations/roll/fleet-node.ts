/** A node of a stack as a rollout drives it: through its HTTP interface, the target's driver and the engine. */

import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import type { Client } from "../../../../runtime/client/index.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { NodeDriver, NodeObservation } from "../../../rollout/contracts.ts";
import type { FleetDoor } from "../../../rollout/fleet-database.ts";
import { type Call, drainNode, healthOf } from "../../../rollout/node-calls.ts";
import type { ObservedNode } from "../../inspection.ts";
import type { ReadProject } from "../services.ts";
import { applyTo, type Former, formerProject, imageName, type NodeRun, pass } from "./node-change.ts";

/** Runs what nodes may not do side by side. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export interface NodeRunInTurn {
  readonly run: NodeRun;
  readonly inTurn: InTurn;
}

/** `to`: the image that it is to get; without `change` it can be looked at alone. Errors as NodeDriver says. */
export function fleetNode(former: Former, to: ImageIdentity, name: string, change?: NodeRunInTurn): NodeDriver {
  const { session, project: planned } = former;
  const { services } = session.run;

  /** With the image under the name by which a rollout knows it. */
  async function seen(signal: AbortSignal): Promise<ObservedNode> {
    const found = (await session.driver.observe(signal)).find((one) => one.name === name);
    if (found === undefined) throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${name}.`);
    if (found.state === "unknown") {
      throw new InfraError("INFRA_HOST_UNREACHABLE", `The host of ${name} does not answer (${found.place}).`);
    }
    const images = [to, await formerImage()].flatMap((image) => image ?? []);
    const match = images.find(({ digest, id, reference }) => [digest, id, reference].includes(found.image));
    return match === undefined ? found : { ...found, image: imageName(match) };
  }

  async function formerImage(): Promise<ImageIdentity | null> {
    const had = (await formerProject(former, name))?.plan.nodes.find((one) => one.name === name)?.image;
    return had ?? former.images[name] ?? null;
  }

  /** What the node had may be reached in another way than what it is to get. */
  async function projectFor(image: string | null): Promise<ReadProject> {
    if (image === imageName(to)) return planned;
    return (await formerProject(former, name)) ?? planned;
  }

  async function call<T>(image: string | null, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    const project = await projectFor(image);
    const driver = await services.createDriver(project);
    return services.nodes.call({ project, driver, node: name }, signal, work);
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
      const stopTimeoutS = planned.plan.nodes.find((node) => node.name === name)?.stopTimeoutS ?? 0;
      await drainNode(door, { token, holdMs, stopTimeoutS, warn: session.warn }, signal);
    },
    async swap(image, token, signal) {
      const isNew = image === imageName(to);
      const project = isNew ? planned : await formerProject(former, name);
      if (project === null || change === undefined)
        throw new InfraError("INFRA_FAILED", `Nothing is known of what ${name} had before.`);
      session.phase("stop", `Stopping ${name}`);
      await session.driver.fence(name, { token, stop: true }, signal);
      await change.inTurn(() => applyTo(change.run, project, name, isNew ? "Changing" : "Going back:"));
    },
    async gate(image) {
      await pass(session, await projectFor(image), name);
    },
  };
}
