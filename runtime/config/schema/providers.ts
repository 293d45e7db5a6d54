/** `providers`: the language-model backends. Ranges of numbers are only warned about: a backend enforces its own limits. */
import { PROVIDER_KINDS } from "../known-ids.ts";
import { pluggableKind, pluginSettings } from "./plugins.ts";
import { decimal, duration, integer, list, mapping, name, section, text, tokens, url } from "./scalars.ts";

const prices = section({
  input: decimal({ min: 0 }).optional().describe("US dollars per million tokens of input; `cairn usage` counts by it."),
  output: decimal({ min: 0 }).optional().describe("US dollars per million tokens of output."),
  cache_read: decimal({ min: 0 })
    .optional()
    .describe("The same for input that a prompt cache served; that of input when absent."),
  cache_write: decimal({ min: 0 })
    .optional()
    .describe("The same for input that was written into a prompt cache; that of input when absent."),
});

const login = section({
  client_id: text().describe("The client id of your own registration with the provider; none comes with the program."),
  authorize_url: url().optional().describe("Page of the login; the kind's own when absent."),
  token_url: url().optional().describe("Where tokens are given; the kind's own when absent."),
  scopes: list(text()).optional().describe("What is asked for; the kind's usual ones when absent."),
});

const provider = section({
  kind: pluggableKind(PROVIDER_KINDS)
    .meta({ derived: true })
    .describe("Known from the id where the id is a well-known one."),
  model: text().meta({ derived: true }).describe("Model name; needed for every kind but offline."),
  base_url: url().optional().describe("Address of the API; the kind's own when absent."),
  api_key: text()
    .optional()
    .describe("A reference such as ${ANTHROPIC_API_KEY}; the kind's usual variable when absent."),
  login: login.optional().describe("Subscription login in place of a key, with `cairn login`; kind anthropic."),
  max_tokens: integer().optional().describe("Longest reply, in tokens."),
  temperature: decimal().optional(),
  context_window: tokens()
    .prefault(128_000)
    .describe(
      "Tokens that the model can read; 32768 for kind ollama, whose server is asked for as many (`num_ctx`), except at ollama.com.",
    ),
  timeout: duration({ min: 1_000 })
    .prefault("5m")
    .describe("Longest silence of a request, before the first byte and between bytes."),
  max_retries: integer({ min: 0, max: 10 }).prefault(2).describe("Retries of one request before the fallbacks."),
  settings: pluginSettings().describe("Of a kind that a plugin brings: its own settings."),
  prices: prices
    .optional()
    .describe("US dollars per million tokens. Calls whose tokens have no price count as unpriced."),
});

export const providersSection = mapping(name("a provider's id"), provider).prefault({}).describe("Providers, by id.");
