-- compatible-from: 4
-- How many conversations are due, failing and given up: one row, kept by whatever changes the work table, so that telling it
-- reads one row however long the work is. Derived: housekeeping counts anew once an hour.

create table compaction_counts (
  id       boolean primary key default true check (id),
  due      bigint not null,
  failing  bigint not null,
  given_up bigint not null
) with (fillfactor = 50);

insert into compaction_counts (due, failing, given_up)
select count(*) filter (where due_at is not null and attempts = 0),
  count(*) filter (where due_at is not null and attempts > 0),
  count(*) filter (where failed_at is not null)
from compaction_work;

-- The row is the last that a statement locks, and only where a number changes: claims and their renewals pass it by.
create function count_compaction() returns trigger language plpgsql as $$
declare
  change record;
begin
  if tg_op = 'INSERT' then
    select count(*) filter (where due_at is not null and attempts = 0) as due,
      count(*) filter (where due_at is not null and attempts > 0) as failing,
      count(*) filter (where failed_at is not null) as given_up into change from after;
  elsif tg_op = 'DELETE' then
    select -count(*) filter (where due_at is not null and attempts = 0) as due,
      -count(*) filter (where due_at is not null and attempts > 0) as failing,
      -count(*) filter (where failed_at is not null) as given_up into change from before;
  else
    select coalesce(sum(n) filter (where due_at is not null and attempts = 0), 0) as due,
      coalesce(sum(n) filter (where due_at is not null and attempts > 0), 0) as failing,
      coalesce(sum(n) filter (where failed_at is not null), 0) as given_up into change
    from (select due_at, attempts, failed_at, 1 as n from after
          union all select due_at, attempts, failed_at, -1 from before) as both_sides;
  end if;
  if change.due <> 0 or change.failing <> 0 or change.given_up <> 0 then
    update compaction_counts set due = due + change.due, failing = failing + change.failing,
      given_up = given_up + change.given_up;
  end if;
  return null;
end $$;
create trigger compaction_work_inserted after insert on compaction_work
  referencing new table as after for each statement execute function count_compaction();
create trigger compaction_work_updated after update on compaction_work
  referencing old table as before new table as after for each statement execute function count_compaction();
create trigger compaction_work_deleted after delete on compaction_work
  referencing old table as before for each statement execute function count_compaction();

-- The error of the conversation that failed last.
create index compaction_work_failures on compaction_work ((coalesce(failed_at, due_at))) where error is not null;
create index compaction_work_given_up on compaction_work (failed_at) where failed_at is not null;
