-- compatible-from: 4
-- Which summaries are in an agent's wiki, so that each is extracted once. Derived from the pages: without a row a summary is
-- extracted again, and its statements take the place of those that it left before.

create table wiki_sources (
  agent      text not null,
  summary_id uuid not null references summaries (id) on delete cascade,
  -- 0 where nothing in it was worth a page.
  pages      integer not null,
  written_at timestamptz not null default now(),
  primary key (agent, summary_id)
);
