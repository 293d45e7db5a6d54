import { describe, expect, it, onTestFinished } from "vitest";
import { writeCredentials } from "../../../../../runtime/config/credentials.ts";
import { ProviderError } from "../../../../../runtime/contracts/errors.ts";
import {
  createAnthropicProvider,
  type ProviderSettings,
} from "../../../../../runtime/plugins/providers/anthropic/index.ts";
import { startAnthropicFake } from "../../../../fakes/anthropic/index.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { type LoggedIn, loggedIn } from "../../../../support/login/credentials.ts";
import { quietLogger } from "../../../../support/quiet-logger.ts";
import { chunks, failure, says, textIn } from "../support.ts";

/** An API that takes the token that counts now, and nothing else. */
async function fixture(
  options: Parameters<typeof loggedIn>[0],
  settings: Partial<ProviderSettings> = {},
  taken?: () => string | null,
) {
  const login: LoggedIn = await loggedIn(options);
  const api = await startAnthropicFake({ apiKey: taken ?? (() => login.oauth.accessToken()) });
  onTestFinished(() => api.close());
  const provider = createAnthropicProvider({
    id: "anthropic",
    model: "claude-sonnet-4-6",
    baseUrl: api.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    login: login.tokens(),
    ...settings,
  });
  return { ...login, api, provider };
}

describe("a provider with a login", () => {
  it("sends the token as a bearer, and no key beside it", async () => {
    const { provider, api, oauth } = await fixture({ expiresInS: 3_000 });
    expect(textIn(await chunks(provider, says("hello")))).not.toBe("");
    const [request] = api.requests;
    expect(request?.headers["authorization"]).toBe(`Bearer ${oauth.accessToken()}`);
    expect(request?.headers).not.toHaveProperty("x-api-key");
  });

  it("is available after a login", async () => {
    expect(await (await fixture({ expiresInS: 3_000 })).provider.isAvailable()).toBe(true);
  });

  it("uses the key where there is one", async () => {
    const { provider, api } = await fixture({ expiresInS: 3_000 }, { apiKey: "sk-of-the-configuration" });
    expect(await failure(chunks(provider, says("hello")))).toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
    expect(api.requests[0]?.headers["x-api-key"]).toBe("sk-of-the-configuration");
  });

  it("renews a refused token once and sends the request again", async () => {
    const { provider, api, oauth } = await fixture({ expiresInS: 3_000 });
    oauth.expire();
    expect(textIn(await chunks(provider, says("hello")))).not.toBe("");
    expect(api.requests).toHaveLength(2);
    expect(oauth.counts.refresh_token).toBe(1);
  });

  it("gives up after the second refusal, and says what to run", async () => {
    const { provider, api, oauth } = await fixture({ expiresInS: 3_000 }, {}, () => null);
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({
      code: "PROVIDER_UNAUTHORIZED",
      message: expect.stringContaining("the login was refused"),
      details: { hint: "Run `cairn login anthropic`." },
    });
    expect(api.requests).toHaveLength(2);
    expect(oauth.counts.refresh_token).toBe(1);
  });

  it("says that the login has ended when the API and the login server refuse", async () => {
    const { provider, oauth, stored, home } = await fixture({ expiresInS: 3_000 });
    await writeCredentials(home, { ...(await stored()), refresh_token: "refresh-that-is-dead" });
    oauth.expire();
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toMatchObject({
      code: "PROVIDER_UNAUTHORIZED",
      message: expect.stringContaining("invalid_grant"),
      details: { hint: "Run `cairn login anthropic`." },
    });
    expect(JSON.stringify(error)).not.toContain("refresh-that-is-dead");
  });
});
