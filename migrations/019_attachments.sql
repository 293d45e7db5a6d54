-- compatible-from: 16
-- Attachments, each once, by the SHA-256 of its bytes, in chunks from 0: every node reads them, and a backup through any node has them.

create table attachments (
  sha256 text collate "C" not null,
  n      integer not null,
  bytes  bytea not null,
  primary key (sha256, n)
);
-- Pictures and documents are compressed already.
alter table attachments alter column bytes set storage external;
