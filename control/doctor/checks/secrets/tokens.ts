/** Tokens for talking to agents, where an agent runs commands for users who are not the owner. */

import { isActive } from "../../../../runtime/contracts/tokens.ts";
import { callNode } from "../../context/node.ts";
import { type Check, pass, warn } from "../check.ts";
import { agentsWithShellForOthers } from "./reach.ts";

export const secretsTokens: Check = {
  id: "secrets.tokens",
  subject: "tokens that reach an agent with a shell",
  async run(context, signal) {
    const agents = agentsWithShellForOthers(await context.config());
    if (agents.length === 0) return pass("No agent runs commands for others than the owner.");
    const all = await callNode(await context.node(), signal, (client) => client.listTokens({ signal }));
    const tokens = all.filter((token) => isActive(token, new Date()) && token.scopes.includes("agent"));
    if (tokens.length === 0) return pass(`No token lets anyone run commands through ${agents.join(", ")}.`);
    return warn(
      `${tokens.length === 1 ? "One token lets its holder" : `${tokens.length} tokens let their holders`} run commands on this machine, through ${agents.join(", ")}.`,
      "Remove `shell` from `agents.<name>.tools.others.include`, or revoke the tokens that are not needed: `cairn token revoke NAME`.",
      { details: tokens.map(({ id, name }) => `${name} (${id})`) },
    );
  },
};
