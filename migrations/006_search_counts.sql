-- compatible-from: 4
-- How common words are and how long rows are, as counted in the background. All of it can be counted again from the rows.

create table search_terms (
  lexeme    text collate "C" primary key,
  documents bigint not null
) with (fillfactor = 80);
-- The words that are like a misspelled one.
create index search_terms_trgm on search_terms using gin (lexeme gin_trgm_ops);

-- `documents` are rows with content, `lexemes` the sum of their lengths: both of rows up to `counted_to`, in insertion order.
create table search_totals (
  kind       text primary key check (kind in ('message', 'summary')),
  counted_to bigint not null default 0,
  documents  bigint not null default 0,
  lexemes    bigint not null default 0
);

create table search_agents (
  agent     text primary key,
  documents bigint not null
);

-- Insertion numbers that were passed by without a row to count: their transactions had not committed, or never will.
create table search_gaps (
  kind      text not null check (kind in ('message', 'summary')),
  first     bigint not null,
  last      bigint not null,
  noted_at  timestamptz not null default now(),
  -- Transactions that may still fill the gap have a lower number.
  noted_xid xid8 not null default pg_current_xact_id(),
  primary key (kind, first)
);

-- A tool call has no words until its sentence comes, which is after its row was passed by.
create function note_synthesized_message() returns trigger language plpgsql as $$
begin
  insert into search_gaps (kind, first, last) values ('message', new.seq, new.seq) on conflict do nothing;
  return null;
end $$;
create trigger messages_synthesized_words after update of content on messages
  for each row when (old.content = '' and new.content <> '') execute function note_synthesized_message();
