-- The transcript (specification, "Resources and their fields"): conversations and the messages in them.
-- Rows of messages are never deleted and never changed, but for the content of a tool call that is synthesized later.

create table conversations (
  id           uuid primary key,
  session_key  text not null,
  agent        text not null,
  channel      text not null,
  channel_id   text,
  bot_identity text,
  user_id      text not null default '',
  title        text,
  settings     jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  active       boolean not null default true,
  finalized_at timestamptz,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now()
);
-- A session has one active conversation; /new closes it and the next message opens another.
create unique index conversations_active on conversations (session_key) where active;
create index conversations_session on conversations (session_key, created_at);
create index conversations_user on conversations (channel, user_id);

create table messages (
  id              uuid primary key,
  conversation_id uuid not null references conversations (id),
  agent           text not null,
  channel         text not null,
  role            text not null check (role in ('user', 'assistant', 'system', 'tool')),
  content         text not null default '',
  tool_name       text,
  tool_args       jsonb,
  tool_result     text,
  metadata        jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  created_at      timestamptz not null default now(),
  -- Insertion order: rows of one transaction share a time.
  seq             bigint generated always as identity,
  -- A tsvector holds at most 1 MB: the head of a longer text is indexed, the row itself is whole.
  content_tsv     tsvector generated always as (to_tsvector('english', left(content, 200000))) stored,
  check (content <> '' or tool_name is not null or tool_result is not null)
);
create index messages_conversation on messages (conversation_id, seq);
create index messages_created on messages (created_at, seq);
create index messages_agent_created on messages (agent, created_at, seq);
create index messages_content_tsv on messages using gin (content_tsv);
create index messages_unsynthesized on messages (seq) where content = '' and tool_name is not null;

create function forbid_transcript_change() returns trigger language plpgsql as $$
begin
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
create trigger messages_immutable before update or delete on messages
  for each row execute function forbid_transcript_change();
create trigger messages_never_truncated before truncate on messages
  for each statement execute function forbid_transcript_change();

-- The dedupe keys of a conversation: an event id, or a hash of what was said. Checked under the session's lock.
create table message_keys (
  conversation_id uuid not null references conversations (id),
  key             text not null,
  message_id      uuid not null references messages (id),
  primary key (conversation_id, key)
);
create index message_keys_message on message_keys (message_id);

-- What the transcript row had to cut: the runtime's own tool calls in full, so that any node can recover them.
create table payloads (
  message_id  uuid primary key references messages (id),
  content     text,
  tool_args   jsonb,
  tool_result text
);
