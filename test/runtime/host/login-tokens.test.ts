import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import {
  credentialsPath,
  removeCredentials,
  withCredentialsLock,
  writeCredentials,
} from "../../../runtime/config/credentials.ts";
import { ProviderError } from "../../../runtime/contracts/errors.ts";
import { createLogins } from "../../../runtime/host/logins.ts";
import { inspectText } from "../../support/deployment.ts";
import { CLIENT_ID, loggedIn } from "../../support/login/credentials.ts";

const CHILD = fileURLToPath(new URL("../../support/login/ask-for-token.ts", import.meta.url));

async function refusal(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw new Error(`expected a ProviderError, not ${String(error)}`);
  return error;
}

describe("a token of a login", () => {
  it("is used as long as it is valid, without a request", async () => {
    const { tokens, oauth } = await loggedIn({ expiresInS: 3_000 });
    expect(await tokens().token()).toBe(oauth.accessToken());
    expect(oauth.counts.refresh_token).toBe(0);
  });

  it("is replaced ahead of its end, on disk before it is used, with the rotated refresh token", async () => {
    const { tokens, oauth, stored, hidden } = await loggedIn({ expiresInS: 200 });
    const before = await stored();
    const token = await tokens().token();
    const after = await stored();
    expect(token).toBe(oauth.accessToken());
    expect(token).not.toBe(before.access_token);
    expect(after.access_token).toBe(token);
    expect(after.refresh_token).not.toBe(before.refresh_token);
    expect(Date.parse(after.expires_at ?? "")).toBeGreaterThan(Date.now() + 3_000_000);
    expect(hidden).toEqual(expect.arrayContaining([token, after.refresh_token, before.access_token]));
  });

  it("is not handed out when it cannot be written: nobody could refresh it then", async () => {
    const { tokens, home, oauth } = await loggedIn({ expiresInS: 200 });
    const answer = Promise.withResolvers<void>();
    oauth.fail({ hold: answer.promise });
    const asked = tokens().token();
    asked.catch(() => undefined);
    await expect.poll(() => oauth.counts.refresh_token).toBe(1);
    // Stops root as well, whom permissions would not.
    const path = credentialsPath(home, "anthropic");
    await rm(path);
    await mkdir(join(path, "in-the-way"), { recursive: true });
    answer.resolve();
    await expect(asked).rejects.toMatchObject({ code: "CONFIG_UNWRITABLE" });
  });

  it("is refreshed once for many requests at the same time", async () => {
    const { tokens, oauth } = await loggedIn({ expiresInS: 10 });
    const one = tokens();
    const answer = Promise.withResolvers<void>();
    oauth.fail({ hold: answer.promise });
    const asked = Array.from({ length: 20 }, () => one.token());
    await expect.poll(() => oauth.counts.refresh_token).toBe(1);
    answer.resolve();
    const got = await Promise.all(asked);
    expect(new Set(got)).toEqual(new Set([oauth.accessToken()]));
    expect(oauth.counts.refresh_token).toBe(1);
  });

  it("is refreshed once for several processes, and no refresh token is used twice", async () => {
    const { home, oauth } = await loggedIn({ expiresInS: 10 });
    const answer = Promise.withResolvers<void>();
    oauth.fail({ hold: answer.promise });
    const ask = () => promisify(execFile)(process.execPath, [CHILD, home, oauth.tokenUrl, CLIENT_ID]);
    const asked = Promise.all([ask(), ask(), ask()]);
    await expect.poll(() => oauth.counts.refresh_token).toBe(1);
    // The others have time to come, too.
    await sleep(300);
    answer.resolve();
    const got = await asked;
    const wanted = createHash("sha256")
      .update(oauth.accessToken() ?? "")
      .digest("hex");
    expect(got.map(({ stdout }) => stdout)).toEqual([wanted, wanted, wanted]);
    expect(oauth.counts.refresh_token).toBe(1);
    expect(oauth.reused()).toBe(false);
  });

  it("is renewed when the API refuses it, and taken from disk when another process was faster", async () => {
    const { tokens, oauth } = await loggedIn({ expiresInS: 3_000 });
    const [one, other] = [tokens(), tokens()];
    const refused = await one.token();
    oauth.expire();
    const renewed = await one.renew(refused);
    expect(renewed).toBe(oauth.accessToken());
    expect(await other.renew(refused)).toBe(renewed);
    expect(oauth.counts.refresh_token).toBe(1);
  });

  it("ends one request's wait without ending the others'", async () => {
    const { tokens, oauth } = await loggedIn({ expiresInS: 10 });
    const one = tokens();
    const answer = Promise.withResolvers<void>();
    oauth.fail({ hold: answer.promise });
    const stop = new AbortController();
    const [aborted, stays] = [one.token(stop.signal), one.token()];
    stop.abort(new Error("the user went away"));
    await expect(aborted).rejects.toThrow("the user went away");
    answer.resolve();
    expect(await stays).toBe(oauth.accessToken());
  });
});

describe("a login that cannot be refreshed", () => {
  it("says what to run, and does not ask the server again and again", async () => {
    const { tokens, oauth, stored, home } = await loggedIn({ expiresInS: 10 });
    await writeCredentials(home, { ...(await stored()), refresh_token: "refresh-of-somebody-else" });
    const one = tokens();
    const error = await refusal(one.token());
    expect(error.code).toBe("PROVIDER_UNAUTHORIZED");
    expect(error.message).toContain("invalid_grant");
    expect(error.details.hint).toBe("Run `cairn login anthropic`.");
    await refusal(one.token());
    expect(oauth.counts.refresh_token).toBe(1);
    // A new login is seen without a restart.
    await writeCredentials(home, { ...(await stored()), access_token: "fresh", expires_at: null });
    expect(await one.token()).toBe("fresh");
  });

  it("is listed with the reason after a refusal, also by another process, until it works again", async () => {
    const { tokens, stored, home } = await loggedIn({ expiresInS: 10 });
    const before = await stored();
    const { loaded } = await inspectText(
      "version: 1\nagents: { main: {} }\n" +
        `providers: { anthropic: { model: m, login: { client_id: ${CLIENT_ID} } } }\n`,
    );
    if (loaded === null) throw new Error("the configuration is not valid");
    const { config } = loaded;
    const clock = { now: () => new Date(), monotonic: () => performance.now() };
    const listed = async () => createLogins({ config, home, clock, hide: () => undefined }).list();
    expect(await listed()).toMatchObject([{ logged_in: true, problem: null }]);
    await writeCredentials(home, { ...before, refresh_token: "refresh-of-somebody-else" });
    await refusal(tokens().token());
    const [refused] = await listed();
    expect(refused).toMatchObject({
      logged_in: false,
      problem: "The login could not be refreshed: the login server refused (invalid_grant).",
    });
    // Such as after a client id that was wrong for a while.
    await writeCredentials(home, { ...(await stored()), refresh_token: before.refresh_token });
    await tokens().token();
    expect(await listed()).toMatchObject([{ logged_in: true, problem: null }]);
  });

  it("goes on with a token that still counts while the server is broken", async () => {
    const { tokens, oauth, stored } = await loggedIn({ expiresInS: 100 });
    oauth.fail({ status: 500 });
    expect(await tokens().token()).toBe((await stored()).access_token);
  });

  it.each([
    ["broken", { status: 500 }, "PROVIDER_SERVER_ERROR"],
    ["no login server at all", { garbage: true }, "PROVIDER_SERVER_ERROR"],
  ])("is an error that may pass when the server is %s and the token over", async (_name, fault, code) => {
    const { tokens, oauth, stored } = await loggedIn({ expiresInS: -5 });
    const before = await stored();
    oauth.fail(fault);
    const error = await refusal(tokens().token());
    expect(error).toMatchObject({ code, retryable: true });
    expect(error.details.hint).toContain("cairn login anthropic");
    expect(`${error.message} ${String(error.cause)}`).not.toContain(before.refresh_token);
    expect(await stored()).toEqual(before);
  });

  it("ends with its token when there is no refresh token", async () => {
    const { tokens } = await loggedIn({ expiresInS: -5, withoutRefresh: true });
    expect(await refusal(tokens().token())).toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
  });

  it("is gone after a logout", async () => {
    const { tokens, home } = await loggedIn({ expiresInS: 3_000 });
    const one = tokens();
    expect(await one.present()).toBe(true);
    await removeCredentials(home, "anthropic");
    expect(await one.present()).toBe(false);
    expect((await refusal(one.token())).details.hint).toContain("cairn login anthropic");
  });
});

describe("the file of a login", () => {
  it("is private in a private directory, also after its mode was loosened", async () => {
    const { home, tokens } = await loggedIn({ expiresInS: 3_000 });
    const path = credentialsPath(home, "anthropic");
    const modes = async () => [(await stat(path)).mode & 0o777, (await stat(dirname(path))).mode & 0o777];
    expect(await modes()).toEqual([0o600, 0o700]);
    await chmod(path, 0o644);
    await tokens().token();
    expect(await modes()).toEqual([0o600, 0o700]);
  });

  it("leaves nothing half-written beside it", async () => {
    const { home, tokens } = await loggedIn({ expiresInS: 10 });
    await tokens().token();
    expect((await readdir(dirname(credentialsPath(home, "anthropic")))).sort()).toEqual([
      "anthropic.json",
      "anthropic.lock",
    ]);
  });

  it.each(["", "{", '{"schema":1}', "[]"])("that holds %j is reported, without its words", async (content) => {
    const { home, tokens } = await loggedIn({ expiresInS: 10 });
    await writeFile(credentialsPath(home, "anthropic"), content);
    await expect(tokens().token()).rejects.toMatchObject({
      code: "CONFIG_UNREADABLE",
      details: { hint: expect.stringContaining("cairn login") },
    });
  });

  it("is changed by one at a time", async () => {
    const { home } = await loggedIn({ expiresInS: 10 });
    const order: string[] = [];
    // Who asks first need not be served first: the second asks once the first is in.
    const entered = Promise.withResolvers<void>();
    const slow = withCredentialsLock(home, "anthropic", async () => {
      order.push("first in");
      entered.resolve();
      await sleep(150);
      order.push("first out");
    });
    await entered.promise;
    await withCredentialsLock(home, "anthropic", async () => void order.push("second"));
    await slow;
    expect(order).toEqual(["first in", "first out", "second"]);
  });
});
