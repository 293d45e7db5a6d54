/** Scheduled turns, as nodes tell of them. */

/** `paused`: by `cairn schedule pause`; `disabled`: by `enabled: false` in cairn.yaml. */
export const SCHEDULE_STATES = ["active", "paused", "disabled"] as const;
export type ScheduleState = (typeof SCHEDULE_STATES)[number];

/** Of the newest run: where its turn is, or how it ended. */
export const RUN_STATES = ["queued", "running", "waiting", "done", "failed", "aborted"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** Times are ISO 8601. */
export interface ScheduleStatus {
  readonly agent: string;
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  /** That the reply is sent to; null: it is stored only. */
  readonly channel: string | null;
  readonly conversation: string | null;
  readonly state: ScheduleState;
  /** Null while it is paused or disabled. */
  readonly next_at: string | null;
  /** The newest run; null: there was none. */
  readonly last: {
    /** Null for one that could not be started. */
    readonly turn_id: string | null;
    readonly at: string;
    /** Null where its turn was deleted before its end was recorded. */
    readonly state: RunState | null;
    readonly error: string | null;
  } | null;
  /** What somebody should see to; null: nothing. */
  readonly problem: string | null;
}

/** One run that was asked for by hand. */
export interface ScheduleRun {
  readonly agent: string;
  readonly name: string;
  readonly turn_id: string;
  /** False: an earlier run of it still waits for its session, and this is that one. */
  readonly started: boolean;
}
