-- compatible-from: 16
-- Membership between nodes that share no database (docs/mesh.md). `nodes` also holds members of other databases: they have no
-- lease `node:<id>` here.

-- Countersignatures that lead from the node to the first node of its mesh, the node's own first; null: nobody has admitted it.
alter table nodes add column admission jsonb;
-- The mesh that the nodes of this database are in: the id of its first node.
create table mesh (
  only_row boolean primary key default true check (only_row),
  root     text not null
);

-- Nodes that a member has revoked, and those that have left. It holds for ever, whatever they say later.
create table revocations (
  node       text primary key,
  revocation jsonb not null
);

-- Tokens that let a node join: for one node each.
create table join_tokens (
  -- SHA-256 of its secret, hex.
  hash       text primary key,
  expires_at timestamptz not null,
  -- The node that came with it; that one may repeat its request.
  used_by    text
);
