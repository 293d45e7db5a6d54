-- compatible-from: 4
-- What the compactor works on: a row for each conversation that was due once.

create table compaction_work (
  conversation_id uuid primary key references conversations (id),
  -- Every message of the conversation up to this insertion number is in a leaf.
  summarized_seq  bigint not null default 0,
  -- Not before; null while there is nothing to do, and once it was given up.
  due_at          timestamptz,
  -- Failures in a row that were this conversation's own.
  attempts        integer not null default 0,
  failed_at       timestamptz,
  error           text,
  claimed_by      uuid,
  claimed_until   timestamptz,
  -- Raised by every claim; a worker that was overtaken writes nothing.
  fence           bigint not null default 0
) with (fillfactor = 80);
create index compaction_work_due on compaction_work (due_at) where due_at is not null;
create index compaction_work_claimed on compaction_work (claimed_by) where claimed_by is not null;

-- How the last run of any node came out: one row.
create table compaction_status (
  id          boolean primary key default true check (id),
  last_run_at timestamptz not null,
  -- Why the model could not be used; null when it could.
  last_error  text
);
