-- compatible-from: 13
-- Messages whose turns have not ended, the owner's apart from all others', in their order: claims and limits read them from here.

create index inbox_open on inbox (owner, seq) where done_at is null;
