-- compatible-from: 16
-- Replies that are shown while they are written (docs/channels.md).

create table drafts (
  turn_id      uuid primary key references turns (id) on delete cascade,
  -- The platform's ids of the messages that show what is written of the reply, the first one first.
  platform_ids text[] not null default '{}',
  -- The beginning of the turn's text that has gone out for good, before a question: the reply is sent without it.
  words        text not null default ''
);

-- Messages that show a draft of this one: they are changed into it.
alter table outbox add column draft_ids text[] not null default '{}';
-- An attempt may have reached the platform without its answer being heard.
alter table outbox add column unsure boolean not null default false;
