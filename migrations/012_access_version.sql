-- compatible-from: 4
-- Counts the writes to `access`: whoever knows what stood there at this number knows it as long as the number is the same.
-- A row and not a sequence, because it changes for others exactly when what it counts does. Derived; any number will do.

create table access_version (
  id      boolean primary key default true check (id),
  version bigint not null
) with (fillfactor = 50);

insert into access_version (version) values (1);

create function count_access_writes() returns trigger language plpgsql as $$
begin
  update access_version set version = version + 1;
  return null;
end $$;
create trigger access_written after insert or update or delete or truncate on access
  for each statement execute function count_access_writes();
