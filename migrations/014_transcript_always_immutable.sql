-- compatible-from: 13
-- Sessions with session_replication_role = replica, which a superuser may set, skip triggers unless they fire always.

alter table messages enable always trigger messages_immutable;
alter table messages enable always trigger messages_never_truncated;
