-- compatible-from: 16
-- What stands at the head of a conversation's prompt in place of its oldest messages, once they do not fit into the model's window.

create table prompt_summaries (
  conversation_id uuid primary key references conversations (id),
  -- Empty: there is none yet.
  content         text not null default '',
  -- It covers every message of the conversation up to this insertion number.
  covered_seq     bigint not null default 0,
  -- Null where it was put together from summaries of the background.
  model           text,
  -- No model is asked before, since the last one failed.
  retry_at        timestamptz,
  -- The user has been told that messages are left out.
  told            boolean not null default false,
  updated_at      timestamptz not null default now()
);

-- It says again what was erased, whichever version of the service erases.
create function drop_prompt_summary() returns trigger language plpgsql as $$
begin
  update prompt_summaries set content = '', covered_seq = 0, model = null, updated_at = now()
    where conversation_id = old.conversation_id and covered_seq >= old.seq;
  return null;
end $$;
create trigger messages_prompt_summary after delete on messages
  for each row execute function drop_prompt_summary();
