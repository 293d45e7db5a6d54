-- compatible-from: 16
-- What calls of models have used, a row for each day (UTC), agent, provider and model. It refers to nothing: turns are deleted a
-- week after their end, and their usage stays.

create table model_usage (
  day                      date not null,
  agent                    text not null,
  provider                 text not null,
  -- As the provider named it in its answers.
  model                    text not null,
  calls                    bigint not null,
  -- Those of them whose tokens had no price in the configuration: cost_usd is without them.
  unpriced_calls           bigint not null,
  input_tokens             bigint not null,
  -- Both are part of input_tokens.
  cached_input_tokens      bigint not null,
  cache_write_input_tokens bigint not null,
  output_tokens            bigint not null,
  cost_usd                 numeric not null,
  primary key (day, agent, provider, model)
);
