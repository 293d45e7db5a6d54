-- The way of a message: inbox, turn, steps, outbox. Every write of a running turn checks its epoch under a share lock.

create table inbox (
  id           uuid primary key,
  seq          bigint generated always as identity,
  channel      text not null,
  agent        text not null,
  conversation text not null,
  user_id      text not null default '',
  external_id  text not null,
  body_hash    text not null,
  session_key  text not null,
  text         text not null,
  attachments  jsonb not null default '[]',
  -- Messages that the sender brings along for a conversation that is new (OpenAI-style requests).
  history      jsonb not null default '[]',
  owner        boolean not null default false,
  sent_at      timestamptz,
  received_at  timestamptz not null default now(),
  done_at      timestamptz,
  unique (channel, agent, conversation, external_id)
);
create index inbox_done on inbox (done_at) where done_at is not null;

create table turns (
  id              uuid primary key,
  inbox_id        uuid not null unique references inbox (id) on delete cascade,
  seq             bigint not null,
  -- Turns of higher priority run first: /interrupt puts its text ahead of the queue.
  priority        integer not null default 0,
  session_key     text not null,
  agent           text not null,
  conversation_id uuid references conversations (id),
  state           text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'aborted')),
  attempt         integer not null default 0,
  -- Attempts that ended in an orderly shutdown; the others ended in a crash.
  checkpoints     integer not null default 0,
  -- Raised by every claim; a writer that holds an older one writes nothing.
  epoch           bigint not null default 0,
  lease_node      text,
  lease_boot      text,
  lease_until     timestamptz,
  abort_requested boolean not null default false,
  interrupted     boolean not null default false,
  notice          text,
  reply           text,
  usage           jsonb,
  error           jsonb,
  created_at      timestamptz not null default now(),
  started_at      timestamptz,
  finished_at     timestamptz
);
create index turns_open on turns (session_key, priority desc, seq) where state in ('queued', 'running');
create index turns_running on turns (lease_until) where state = 'running';

create table turn_steps (
  turn_id      uuid not null references turns (id) on delete cascade,
  n            integer not null,
  epoch        bigint not null,
  kind         text not null check (kind in ('reply', 'tool', 'steer')),
  tool_call_id text,
  -- A tool call is recorded as intended before it runs; without a result after a crash it is unknown, and never run again.
  state        text not null check (state in ('intended', 'done', 'failed', 'unknown')),
  request      jsonb,
  result       jsonb,
  created_at   timestamptz not null default now(),
  finished_at  timestamptz,
  primary key (turn_id, n)
);
create unique index turn_steps_call on turn_steps (turn_id, tool_call_id) where tool_call_id is not null;

-- What /steer says to a running turn; consumed by the step that names it.
create table turn_steers (
  id         uuid primary key,
  seq        bigint generated always as identity,
  turn_id    uuid not null references turns (id) on delete cascade,
  text       text not null,
  step       integer,
  created_at timestamptz not null default now()
);
create index turn_steers_waiting on turn_steers (turn_id, seq) where step is null;

create table outbox (
  id              uuid primary key,
  seq             bigint generated always as identity,
  turn_id         uuid not null unique references turns (id) on delete cascade,
  channel         text not null,
  agent           text not null,
  payload         jsonb not null,
  state           text not null default 'pending' check (state in ('pending', 'sent', 'failed')),
  attempts        integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  platform_id     text,
  last_error      text,
  created_at      timestamptz not null default now(),
  sent_at         timestamptz
);
create index outbox_pending on outbox (next_attempt_at, seq) where state = 'pending';

-- One holder at a time; taking over raises the epoch, which fences whoever held it before.
create table leases (
  name       text primary key,
  holder     text not null,
  epoch      bigint not null default 1,
  expires_at timestamptz not null,
  data       jsonb not null default '{}'
);

create table api_tokens (
  id           uuid primary key,
  name         text not null,
  -- SHA-256 of the token, hex.
  hash         text not null unique,
  scopes       text[] not null,
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz
);
