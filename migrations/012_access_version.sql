-- compatible-from: 4
-- Numbers the writes to `access`: whoever knows what stood there at this number knows it as long as the number is the same.
-- A row and not a sequence, because it changes for others exactly when what it numbers does. The numbers rise with the time: a
-- server that loses a process stays the same server, but loses its last commits, which nobody waits for here, and must not give
-- their numbers to others. They are given before the rows are written, so that all writers wait for each other here and never in
-- a circle. Derived; any number will do.

create table access_version (
  id      boolean primary key default true check (id),
  version bigint not null
) with (fillfactor = 50);

insert into access_version (version) values (1);

create function number_access_writes() returns trigger language plpgsql as $$
begin
  update access_version set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
  return null;
end $$;
create trigger access_numbered before insert or update or delete or truncate on access
  for each statement execute function number_access_writes();
