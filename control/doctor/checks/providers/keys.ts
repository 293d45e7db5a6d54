/** Whether every provider that wants a key has one that can be sent. */

import { isSecretReference } from "../../../../runtime/config/references.ts";
import { providersWithLogin } from "../../../login/configured.ts";
import { modelList, usedProviders } from "../../context/used-providers.ts";
import { type Check, fail, pass, Unavailable, warn } from "../check.ts";

export const providersKeys: Check = {
  id: "providers.keys",
  subject: "the keys of the providers",
  async run(context) {
    const snapshot = await context.configuration();
    if (snapshot.state === "invalid") {
      const lines = snapshot.errors.flatMap(({ code, path, message }) =>
        code === "provider-key-missing" ? [`${path}: ${message}`] : [],
      );
      if (lines.length === 0) throw new Unavailable("The configuration is not valid.", ["config.valid"]);
      return fail(
        `Keys of providers are missing: ${lines.join("; ")}.`,
        "Put the keys into .env, or into the environment.",
      );
    }
    const config = await context.config();
    const used = usedProviders(config);
    // See providers.logins.
    const withLogin = new Set(providersWithLogin(config));
    if (used.length === 0)
      return fail("There is no provider.", "Name one under `providers`; `offline: {}` needs nothing.");
    const wrong = used.flatMap((entry) => {
      const list = modelList(entry.provider);
      const key = entry.provider.api_key;
      if (withLogin.has(entry.id)) return [];
      if (list === null || (key !== undefined && isSecretReference(key))) return [];
      if (!key) return list.needsKey ? [{ ...entry, what: "has no key" }] : [];
      // A header holds visible ASCII only.
      return /^[\x21-\x7e]+$/.test(key) ? [] : [{ ...entry, what: "has a key with blanks or odd characters" }];
    });
    if (wrong.length === 0) return pass("Every provider that needs a key has one.");
    const message = `${wrong.map(({ id, what }) => `${id} ${what}`).join("; ")}.`;
    const fix = "Put the key into .env and refer to it as ${NAME} in providers.<id>.api_key.";
    return wrong.some(({ use }) => use === "needed") ? fail(message, fix) : warn(message, fix);
  },
};
