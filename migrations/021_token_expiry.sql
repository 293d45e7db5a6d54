-- compatible-from: 16
-- When a token stops working, and when it was last used, to the minute. Code that knows only the schema before does not look at the
-- expiry: while nodes of both versions run, the older ones still accept a token that has expired.

alter table api_tokens add column expires_at timestamptz, add column last_used_at timestamptz;
