/** References to the password manager, and whether its command is there to follow them. */

import { isSecretReference } from "../../../../runtime/config/references.ts";
import { texts } from "../../../../runtime/config/tree.ts";
import { type Check, fail, pass, skip } from "../check.ts";

export const secretsReferences: Check = {
  id: "secrets.references",
  subject: "references to the password manager",
  async run(context) {
    const snapshot = await context.configuration();
    const written = "tree" in snapshot ? [...texts(snapshot.tree)].map(({ text }) => text) : [];
    const variables = Object.values(await context.environment());
    const count = [...written, ...variables].filter((text) => text !== undefined && isSecretReference(text)).length;
    if (count === 0) return skip("No secret is referred to as op://.");
    const them = count === 1 ? "One reference" : `${count} references`;
    if (await context.probe.hasTool("op"))
      return pass(`${them} to the password manager; \`op\` is there to follow them.`);
    return fail(
      `${them} to the password manager cannot be followed: the command \`op\` is not on the path.`,
      "Install the 1Password command line, or put the secrets into .env.",
    );
  },
};
