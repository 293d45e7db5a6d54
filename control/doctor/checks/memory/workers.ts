/** The memory's workers as a node reports them. */

import type { ProbeContext } from "../../context/probe-context.ts";

export interface WorkerSnapshot {
  /** `off`: no model is configured. `unavailable`: its last call failed. */
  readonly state: "off" | "on" | "unavailable";
  readonly model: string;
  readonly reason: string;
}

/** Null where the node has no such worker, or is of a version that does not report it. Unavailable without a node that answers. */
export async function workerSnapshot(context: ProbeContext, name: string): Promise<WorkerSnapshot | null> {
  const { memory } = await context.health();
  const worker: unknown = Reflect.get(Object(memory["workers"]), name);
  const { state, model, reason }: Readonly<Record<string, unknown>> = { ...Object(worker) };
  if (state !== "off" && state !== "on" && state !== "unavailable") return null;
  return { state, model: typeof model === "string" ? model : "", reason: typeof reason === "string" ? reason : "" };
}
