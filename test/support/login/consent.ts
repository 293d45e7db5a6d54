/** The user who agrees at the login's page, wherever a command shows its address. */

import type { OAuthFake } from "../../fakes/oauth/index.ts";

/** Is to be given what the command says, as it comes. `authorizeUrl`: of the page, as the configuration has it. */
export function consenting(oauth: OAuthFake, authorizeUrl = oauth.authorizeUrl): (words: string) => void {
  let said = "";
  return (words) => {
    said += words;
    const address = said.split(/\s/).find((word) => word.startsWith(`${authorizeUrl}?`));
    if (address === undefined || !said.endsWith("\n")) return;
    said = "";
    void fetch(oauth.consent(address)).then((page) => page.text());
  };
}
