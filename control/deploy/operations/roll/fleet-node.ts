/** A node of a stack as a rollout drives it: through its HTTP interface, the target's driver and the engine. */

import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import type { Client, Health } from "../../../../runtime/client/index.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import type { FencingToken, NodeDriver, NodeObservation } from "../../../rollout/contracts.ts";
import type { ObservedNode } from "../../inspection.ts";
import type { ReadProject } from "../services.ts";
import { applyTo, type Former, formerProject, imageName, type NodeRun, pass } from "./node-change.ts";

/** Milliseconds that a node gets to say how it is, and how often it is asked: one that is busy may be slow. */
const ANSWER_MS = 5_000;
const TRIES = 3;
const PAUSE_MS = 1_000;
/** Milliseconds beyond the time that a node gives its turns. */
const MARGIN_MS = 60_000;

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

  async function health(image: string | null, signal: AbortSignal): Promise<Health & { readonly ready: boolean }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await call(image, signal, async (client) => {
          const options = { signal, timeoutMs: ANSWER_MS };
          return { ...(await client.health(options)), ready: await client.ready(options) };
        });
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === TRIES) throw error;
        await services.sleep(PAUSE_MS, signal);
      }
    }
  }

  async function observe(signal: AbortSignal): Promise<NodeObservation> {
    const { state, image, version, since } = await seen(signal);
    if (state === "missing") return { image: null, version: null, ready: false, instance: "" };
    const said = state === "running" ? await health(image, signal).catch(() => null) : null;
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
      await call(image, signal, (client) => drain(client, token, holdMs, signal)).catch((error: unknown) => {
        signal.throwIfAborted();
        if (codeOf(error) === "INFRA_LOCKED" || codeOf(error) === "INFRA_HOST_UNREACHABLE") throw error;
        // It takes nothing then, and its stop lets the turns end as well.
        session.warn(`${name} could not be drained: ${error instanceof Error ? error.message : String(error)}`);
      });
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

  function drain(client: Client, { lease }: FencingToken, holdMs: number, signal: AbortSignal): Promise<void> {
    const stopS = planned.plan.nodes.find((node) => node.name === name)?.stopTimeoutS ?? 0;
    return client.drain({
      lease,
      wait: true,
      resumeAfterS: holdMs / 1_000,
      signal,
      timeoutMs: stopS * 1_000 + MARGIN_MS,
    });
  }
}
