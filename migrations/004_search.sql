-- Finding by parts of words, by identifiers and by regular expression.

create index messages_content_trgm on messages using gin (content gin_trgm_ops);
create index summaries_content_trgm on summaries using gin (content gin_trgm_ops);
