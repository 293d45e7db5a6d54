-- compatible-from: 16
-- How far each schedule (agents.<name>.schedules) has come. What it runs and when is in cairn.yaml; the runs are messages of the inbox.

create table schedules (
  agent      text not null,
  name       text not null,
  -- Of the configuration that planned_at belongs to: another one begins anew.
  definition text not null,
  -- The newest planned time that is done with; at first, when the schedule came. Never goes back, whatever the clock does.
  planned_at timestamptz not null,
  -- Null: it is not paused.
  paused_at  timestamptz,
  -- The newest run. Turns are deleted a week after their end, and what became of it stays.
  turn_id    uuid,
  run_at     timestamptz,
  outcome    text check (outcome in ('done', 'failed', 'aborted')),
  error      text,
  primary key (agent, name)
);
