/** The owner's token of the HTTP interface: there, long enough, and the one that the running node has. */

import { isSecretReference } from "../../../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE } from "../../../../runtime/config/secrets-file.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

/** What a node that listens beyond loopback insists on. */
const SHORTEST = 16;

const NEW_ONE = `Put ${API_TOKEN_VARIABLE}=... into .env, such as \`openssl rand -hex 32\` prints, then \`cairn infra up\`.`;

export const secretsToken: Check = {
  id: "secrets.token",
  subject: "the owner's token of the HTTP interface",
  async run(context) {
    const isHere = (await context.target()) === null;
    const token = (await context.environment())[API_TOKEN_VARIABLE];
    if (!token) {
      return warn(
        `There is no ${API_TOKEN_VARIABLE}, neither in the environment nor in .env.`,
        isHere ? "`cairn start` makes one and writes it into .env." : NEW_ONE,
      );
    }
    if (isSecretReference(token)) return skip("The token is in the password manager, which is not asked here.");
    if (token.length < SHORTEST) {
      return fail(
        `${API_TOKEN_VARIABLE} has ${token.length} characters only, ${SHORTEST} are the least.`,
        isHere ? "Remove its line from .env and restart: `cairn restart` makes a new one." : NEW_ONE,
      );
    }
    const { code } = await context.node();
    if (code === "RUNTIME_UNAUTHORIZED") {
      return fail(
        `The running node does not know this ${API_TOKEN_VARIABLE}.`,
        `Use the node's own token, or let it read this one: ${await applyCommand(context)}.`,
      );
    }
    return pass(`${API_TOKEN_VARIABLE} is set.`);
  },
};
