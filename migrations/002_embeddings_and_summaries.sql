-- Summaries (a tree over the transcript), embeddings and access counters. Side tables: a search or an embedding
-- never rewrites a message.

create table summaries (
  id              uuid primary key,
  conversation_id uuid references conversations (id),
  parent_id       uuid references summaries (id),
  depth           integer not null default 0,
  content         text not null,
  kind            text not null default 'leaf' check (kind in ('leaf', 'branch', 'root')),
  message_count   integer not null default 0,
  earliest_at     timestamptz,
  latest_at       timestamptz,
  model           text,
  created_at      timestamptz not null default now(),
  seq             bigint generated always as identity,
  content_tsv     tsvector generated always as (to_tsvector('english', left(content, 200000))) stored
);
create index summaries_conversation on summaries (conversation_id, seq);
create index summaries_parent on summaries (parent_id);
create index summaries_content_tsv on summaries using gin (content_tsv);

create table summary_sources (
  summary_id uuid not null references summaries (id),
  message_id uuid not null references messages (id),
  ordinal    integer not null default 0,
  primary key (summary_id, message_id)
);
create index summary_sources_message on summary_sources (message_id);

-- One table a model holds the vectors (`embeddings_<id>`, made when the model is first used); this lists them.
create table embedding_models (
  id         integer generated always as identity primary key,
  name       text not null,
  dimensions integer not null check (dimensions between 1 and 4000),
  current    boolean not null default false,
  created_at timestamptz not null default now(),
  unique (name, dimensions)
);
create unique index embedding_models_current on embedding_models (current) where current;

create table access (
  kind             text not null check (kind in ('message', 'summary')),
  id               uuid not null,
  access_count     integer not null default 0,
  last_accessed_at timestamptz not null default now(),
  primary key (kind, id)
) with (fillfactor = 80);
