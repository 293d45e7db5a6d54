/** A login in words. */

import type { Mark } from "../output/terminal.ts";
import type { LoginResult } from "./login.ts";

export function loginText(result: LoginResult, mark: Mark): string {
  const { action, provider, logged_in: loggedIn, changed, expires_at: end, renewable } = result;
  if (action === "logout") {
    return changed ? `Logged out of ${provider}; the tokens are removed.` : `There was no login to ${provider}.`;
  }
  if (!loggedIn) {
    const why = end === null ? `Not logged in to ${provider}.` : `The login of ${provider} ended at ${end}.`;
    return `${why} Run \`cairn login ${provider}\`.`;
  }
  const until = end === null ? "" : renewable ? ", renewed by itself" : `, until ${end}`;
  const head = mark.good(`Logged in to ${provider}${until}.`);
  const notes = [
    ...(result.in_use
      ? []
      : [
          `${mark.warn("Note:")} providers.${provider}.api_key comes first. Remove it from cairn.yaml to use the login.`,
        ]),
    ...(result.deployed
      ? [`${mark.warn("Note:")} the deployed nodes do not have this login: it counts on this machine alone.`]
      : []),
    ...(action === "login" && result.in_use && !result.deployed
      ? [mark.dim("It counts from the next `cairn restart` on.")]
      : []),
  ];
  return [head, ...notes].join("\n");
}
