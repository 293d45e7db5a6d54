/** How a worker of a node stands towards the model that it needs, as `/health` tells it. */
export interface WorkerState {
  /** `off`: no model is configured, its jobs wait. `away`: the model failed when it was last asked. */
  readonly state: "off" | "on" | "away";
  readonly model: string | null;
  /** Why it is off or away. */
  readonly reason: string | null;
}
