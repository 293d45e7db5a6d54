/** A process that wants the token of a login: `node ask-for-token.ts HOME TOKEN_URL CLIENT_ID`. Prints a hash of what it got. */

import { createHash } from "node:crypto";
import process from "node:process";
import { LoginTokens } from "../../../runtime/host/login-tokens.ts";
import { quietLogger } from "../quiet-logger.ts";

const [home = "", tokenUrl = "", clientId = ""] = process.argv.slice(2);
const tokens = new LoginTokens({
  provider: "anthropic",
  home,
  endpoints: { authorizeUrl: tokenUrl, tokenUrl, clientId, scopes: [] },
  clock: { now: () => new Date(), monotonic: () => performance.now() },
  logger: quietLogger,
  hide: () => undefined,
});
process.stdout.write(
  createHash("sha256")
    .update(await tokens.token())
    .digest("hex"),
);
