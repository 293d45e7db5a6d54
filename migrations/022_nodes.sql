-- compatible-from: 16
-- The nodes that share this database, each with what it says of itself, signed with its key (docs/http.md, /api/mesh). Whether one
-- lives is said by its lease, `node:<id>`.

create table nodes (
  -- Fingerprint of its public key.
  id      text primary key,
  -- Counts the entries that it has made; only a higher one replaces it.
  version bigint not null,
  entry   jsonb not null
);
