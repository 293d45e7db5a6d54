-- compatible-from: 16
-- Calls of tools that the owner is asked about. An older version sees such a question as one of any tool, and whatever it stores as the
-- answer is no decision.

-- What the owner is shown, and the digest that the decision is bound to; null: another question.
alter table turn_questions add column approval jsonb;
alter table turn_questions add column decision text check (decision in ('approved', 'denied'));
create index turn_questions_approvals on turn_questions (id) where approval is not null and state = 'open';
-- By the last eight digits, which people type.
create index turn_questions_approval_code on turn_questions (right(id::text, 8)) where approval is not null;

-- Calls that run without a question from now on, each exactly as it was shown.
create table approvals (
  id          uuid primary key,
  agent       text not null,
  tool        text not null,
  -- SHA-256, hex, of the agent, its workspace, the tool, its arguments and why it was asked about.
  digest      text not null,
  -- As the owner was shown them.
  call        text not null,
  reason      text not null,
  approved_by text not null,
  -- That asked. Turns are deleted a week after their end; erasing what was said in one takes its approvals with it.
  turn_id     uuid not null,
  created_at  timestamptz not null default now(),
  unique (agent, tool, digest)
);
