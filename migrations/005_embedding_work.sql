-- compatible-from: 4
-- What the embedder works on. A row stands here while a worker has it, while it waits for another attempt, and for good
-- once it was given up; what simply has no vector yet has no row here and is found by insertion order.

-- Of an expression, so that it serves nobody else: a plan that seeks a session's newest messages by walking all messages
-- backwards looks cheap to the planner, and reads the whole table for a session that is old.
create index messages_insertion on messages ((seq + 0));
create index summaries_insertion on summaries ((seq + 0));

create table embedding_work (
  model_id      integer not null references embedding_models (id) on delete cascade,
  kind          text not null check (kind in ('message', 'summary')),
  id            uuid not null,
  -- Failures that were this row's own.
  attempts      integer not null default 0,
  claimed_by    uuid,
  claimed_until timestamptz,
  -- Not before; null once it was given up.
  due_at        timestamptz default now(),
  failed_at     timestamptz,
  error         text,
  primary key (model_id, kind, id)
) with (fillfactor = 80);
create index embedding_work_due on embedding_work (model_id, due_at) where due_at is not null;
create index embedding_work_claimed on embedding_work (claimed_by) where claimed_by is not null;

-- A tool call's sentence comes after the embedder has passed its row by.
create function queue_synthesized_message() returns trigger language plpgsql as $$
begin
  insert into embedding_work (model_id, kind, id)
  select model.id, 'message', new.id from embedding_models as model
  on conflict do nothing;
  return null;
end $$;
create trigger messages_synthesized after update of content on messages
  for each row when (old.content = '' and new.content <> '') execute function queue_synthesized_message();
