-- How a conversation came about. A turn reads and writes conversations that turns opened, and no others: what programs capture,
-- append or import under a session's key is kept apart, so that it never becomes an agent's own history. Each way in has an
-- active conversation of its own. Older code would join another way's conversation and is not compatible.

alter table conversations
  add column opened_by text not null default 'capture' check (opened_by in ('turn', 'capture', 'append', 'import')),
  -- Whether its turns are the owner's; of conversations that turns opened.
  add column by_owner boolean not null default false;

-- Until now turns and imports named the channel-side conversation, and only messages of turns have keys that begin with `turn:`. One
-- without messages was opened by a command of its user. The owner's user is empty, on every channel.
update conversations c set opened_by = 'turn', by_owner = user_id = ''
where channel_id is not null
  and (not exists (select 1 from messages m where m.conversation_id = c.id)
       or exists (select 1 from messages m join message_keys k on k.message_id = m.id
                  where m.conversation_id = c.id and k.key like 'turn:%'));

drop index conversations_active;
create unique index conversations_active on conversations (session_key, opened_by) where active;
