-- A turn may wait for the answer of a person: no process runs it and no lease holds it, for as long as its question says. Older code
-- would take it for a turn that has ended, and is not compatible.

alter table turns drop constraint turns_state_check;
alter table turns add constraint turns_state_check
  check (state in ('queued', 'running', 'waiting', 'done', 'failed', 'aborted'));
-- Attempts that ended in a question: neither crashes nor interruptions.
alter table turns add column waits integer not null default 0;

drop index turns_open;
create index turns_open on turns (session_key, priority desc, seq) where state in ('queued', 'running', 'waiting');
create index turns_waiting on turns (session_key) where state = 'waiting';

-- A call that asked has done nothing yet: it is run again from its beginning, and its question then has the answer.
alter table turn_steps drop constraint turn_steps_state_check;
alter table turn_steps add constraint turn_steps_state_check
  check (state in ('intended', 'asked', 'done', 'failed', 'unknown'));

create table turn_questions (
  id          uuid primary key,
  turn_id     uuid not null references turns (id) on delete cascade,
  -- The step of the call that asks, and which of its questions this is, from 0.
  n           integer not null,
  ordinal     integer not null,
  -- `text`, and `choices` where the answer is one of them.
  question    jsonb not null,
  state       text not null default 'open' check (state in ('open', 'answered', 'expired')),
  answer      text,
  -- Channel-side user; empty for the owner.
  answered_by text,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  answered_at timestamptz,
  unique (turn_id, n, ordinal)
);
create index turn_questions_open on turn_questions (expires_at) where state = 'open';

-- Questions, and what tools send on the way, go through the outbox, too; the key tells them apart within a turn.
alter table outbox add column key text not null default 'reply';
alter table outbox drop constraint outbox_turn_id_key;
alter table outbox add constraint outbox_turn_key unique (turn_id, key);
