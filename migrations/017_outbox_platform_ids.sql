-- compatible-from: 13
-- A reply may be several messages of its platform: all their ids, the first one first, for edits and for a send that goes on.

alter table outbox add column platform_ids text[] not null default '{}';
update outbox set platform_ids = array[platform_id] where platform_id is not null;
