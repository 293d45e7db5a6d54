-- compatible-from: 16
-- People who are not the owner and have written to a channel: admitted, or with a code that the owner may approve (docs/channels.md).

create table pairings (
  -- As in `channels.<id>`.
  channel      text not null,
  user_id      text not null,
  -- As the platform shows it: the person's own word.
  name         text not null,
  -- Null: admitted.
  code         text unique,
  requested_at timestamptz not null default now(),
  -- Of the code.
  expires_at   timestamptz,
  approved_at  timestamptz,
  primary key (channel, user_id),
  check ((code is null) = (approved_at is not null)),
  check ((code is null) = (expires_at is null))
);
