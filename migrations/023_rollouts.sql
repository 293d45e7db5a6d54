-- compatible-from: 16
-- Rollouts of the nodes that share this database (docs/http.md, /api/admin/rollout). The right to carry one out is the lease `rollout`:
-- its epoch rises from holder to holder, and only the newest may write here.

create table rollouts (
  id         text primary key,
  -- The order in which they began.
  number     bigint generated always as identity unique,
  entry      jsonb not null,
  written_at timestamptz not null default now()
);
