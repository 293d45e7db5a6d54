-- compatible-from: 4
-- memory_browse by a role or a channel that is rare reads its rows, not all of them in the order of time.

create index messages_role_created on messages (role, created_at, seq);
create index messages_channel_created on messages (channel, created_at, seq);
