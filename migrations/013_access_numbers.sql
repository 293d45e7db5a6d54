-- compatible-from: 4
-- Numbers of writes to `access` (012) rise with the time: a server that loses a process stays the same server, but loses its last
-- commits, which nobody waits for here, and must not give their numbers to others. And they are given before the rows are
-- written, so that all writers wait for each other here and never in a circle.

create function number_access_writes() returns trigger language plpgsql as $$
begin
  update access_version set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
  return null;
end $$;
drop trigger access_written on access;
drop function count_access_writes();
create trigger access_numbered before insert or update or delete or truncate on access
  for each statement execute function number_access_writes();
