/** Whether the model that a worker of a node needs is available, as `/health` shows it. */
export interface WorkerState {
  /** `off`: no model is configured, its jobs wait. `unavailable`: the model failed when it was last asked. */
  readonly state: "off" | "on" | "unavailable";
  readonly model: string | null;
  /** Why it is off or unavailable. */
  readonly reason: string | null;
}
