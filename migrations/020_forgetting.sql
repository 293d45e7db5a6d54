-- compatible-from: 16
-- The owner's erasures. What is erased leaves its row here for good: the id, when and why, and nothing of what was said.
create table erasures (
  id            uuid primary key,
  -- What was selected, without the words that it was selected by.
  kind          text not null check (kind in ('messages', 'conversation', 'session', 'user', 'matching')),
  -- Of the whole selection, until it is finished: the same command finds what it has begun, and no hash of the words stays.
  selector_hash text not null,
  reason        text not null,
  erased_by     text not null,
  created_at    timestamptz not null default now(),
  finished_at   timestamptz,
  messages      bigint not null default 0,
  summaries     bigint not null default 0,
  turns         bigint not null default 0,
  attachments   bigint not null default 0
);
create index erasures_unfinished on erasures (created_at) where finished_at is null;

-- Each message of an erasure; without `erased_at` it is still to be erased.
create table forgotten (
  message_id      uuid primary key,
  erasure_id      uuid not null references erasures (id),
  conversation_id uuid not null references conversations (id),
  erased_at       timestamptz
);
create index forgotten_pending on forgotten (erasure_id, conversation_id, message_id) where erased_at is null;

-- Dedupe keys of what was erased, hashed: the same event is not stored again.
create table forgotten_keys (
  conversation_id uuid not null references conversations (id),
  key_hash        text collate "C" not null,
  message_id      uuid not null,
  primary key (conversation_id, key_hash)
);

-- Summaries that were erased with their messages, until their statements are out of the agent's wiki.
create table forgotten_summaries (
  summary_id uuid primary key,
  agent      text not null,
  erasure_id uuid not null references erasures (id),
  wiki_at    timestamptz
);
create index forgotten_summaries_open on forgotten_summaries (agent) where wiki_at is null;

-- As before, but that a row goes which is listed for the erasure that this transaction names. No row ever changes otherwise.
create or replace function forbid_transcript_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and exists (
    select from forgotten f join erasures e on e.id = f.erasure_id
    where f.message_id = old.id and f.erased_at is null
      and e.finished_at is null and e.id::text = current_setting('cairn.erasure', true)) then
    return old;
  end if;
  if tg_op = 'UPDATE' and old.content = '' and old.tool_name is not null and new.content <> ''
     and (new.id, new.conversation_id, new.agent, new.channel, new.role, new.tool_name, new.created_at, new.seq)
         = (old.id, old.conversation_id, old.agent, old.channel, old.role, old.tool_name, old.created_at, old.seq)
     and new.tool_args is not distinct from old.tool_args
     and new.tool_result is not distinct from old.tool_result
     and new.metadata = old.metadata then
    return new;
  end if;
  raise exception 'transcript rows are immutable (% on messages)', tg_op using errcode = 'restrict_violation';
end $$;
