-- Finding by parts of words, by identifiers and by regular expression.

create index messages_content_trgm on messages using gin (content gin_trgm_ops);
create index summaries_content_trgm on summaries using gin (content gin_trgm_ops);

-- New rows wait in a list that every search reads through: kept short, its emptying also delays no single insert for long.
alter index messages_content_tsv set (gin_pending_list_limit = 512);
alter index messages_content_trgm set (gin_pending_list_limit = 512);
alter index summaries_content_tsv set (gin_pending_list_limit = 512);
alter index summaries_content_trgm set (gin_pending_list_limit = 512);
