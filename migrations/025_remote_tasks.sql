-- compatible-from: 16
-- Tasks between nodes that share no database (docs/delegation.md).

-- Of a message that is the task of another node: the turns that wait for it, the nearest first, and when they stop waiting.
alter table inbox add column chain jsonb;
alter table inbox add column deadline timestamptz;
create index inbox_deadline on inbox (deadline) where deadline is not null and done_at is null;

-- Tasks that a turn here has for an agent elsewhere, one a question of it.
create table remote_tasks (
  question_id uuid primary key references turn_questions (id) on delete cascade,
  -- The agent that is to do it, elsewhere.
  target      text not null,
  -- As `inbox.chain` there.
  chain       jsonb not null,
  -- Idempotency key of the message there.
  key         text not null,
  -- Node that may have accepted it; null: none. The key is sent to no other one while this stands.
  peer        text,
  -- Of the process that sends it: only that one may take `peer` back, where the peer has refused it for certain.
  sender      uuid,
  -- Its turn there; null: not known yet.
  peer_turn   text,
  -- Answered, or stopped: nothing is sent any more.
  ended       boolean not null default false
);
create index remote_tasks_open on remote_tasks (question_id) where not ended;
