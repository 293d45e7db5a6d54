/** A login in words. */

import { serverOfLogin } from "../../runtime/config/index.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type { LoginResult, NodeLogin } from "./result.ts";

export function loginText(result: LoginResult, mark: Mark): string {
  if (result.deployed) return nodesText(result, mark);
  const { action, provider, logged_in: loggedIn, changed, expires_at: end, renewable, problem } = result;
  if (action === "logout") {
    return changed ? `Logged out of ${provider}; the tokens are removed.` : `There was no login to ${provider}.`;
  }
  if (!loggedIn) {
    if (problem !== null) return `${visible(problem)} Run \`cairn login ${provider}\`.`;
    const why = end === null ? `Not logged in to ${provider}.` : `The login of ${provider} ended at ${end}.`;
    return `${why} Run \`cairn login ${provider}\`.`;
  }
  const until = end === null ? "" : renewable ? ", renewed by itself" : `, until ${end}`;
  const head = mark.good(`Logged in to ${provider}${until}.`);
  if (result.in_use) return head;
  const server = serverOfLogin(provider);
  const first =
    server === null ? `providers.${provider}.api_key` : `The authorization of mcp.servers.${server}.headers`;
  const note = `${first} comes first. Remove it from cairn.yaml to use the login.`;
  return `${head}\n${mark.warn("Note:")} ${note}`;
}

function nodesText({ action, provider, changed, file, nodes }: LoginResult, mark: Mark): string {
  if (action === "logout") {
    const [{ node } = { node: "" }] = nodes;
    const here = file === null ? "" : " The tokens that this machine still had are removed, too.";
    return changed ? `Logged out of ${provider} on ${node}.${here}` : `${node} had no login to ${provider}.`;
  }
  return nodes.map((node) => nodeText(provider, node, mark)).join("\n");
}

function nodeText(provider: string, login: NodeLogin, mark: Mark): string {
  const { node, logged_in: loggedIn, expires_at: end, renewable, problem } = login;
  if (loggedIn) {
    const until = end === null ? "" : renewable ? ", renewed by itself" : `, until ${end}`;
    const unused = login.in_use ? "" : ` ${mark.warn("Not used:")} providers.${provider}.api_key comes first.`;
    return `${mark.good(`${node}: logged in to ${provider}${until}.`)}${unused}`;
  }
  if (problem !== null) return `${node}: ${mark.warn("no login that can be used")}. ${visible(problem)}`;
  const why = end === null ? `not logged in to ${provider}` : `the login of ${provider} ended at ${end}`;
  return `${node}: ${why}. Run \`cairn login ${provider} --node ${node}\`.`;
}
