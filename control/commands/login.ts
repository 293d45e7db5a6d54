import process from "node:process";
import { Args, Flags } from "@oclif/core";
import { makeOwnHome } from "../../runtime/config/home.ts";

import { browserCommand, openBrowser } from "../login/browser.ts";
import { type FindEndpoints, keepHere, logIn, loginStatus, logOut } from "../login/login.ts";
import { checkNode, chosenMembers, keepOnNode, logOutOnNode, onlyMember, statusOnNodes } from "../login/on-nodes.ts";
import { askForAnswer, readAnswer } from "../login/paste.ts";
import { loginText } from "../login/render.ts";
import type { LoginResult } from "../login/result.ts";
import { loginTarget, saveClientId, withAuthorization, withoutClientId } from "../login/target.ts";
import { NodeCommand } from "../node-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { refuseChoice } from "../service/connect.ts";
import { openStack } from "../service/deployed-stack.ts";
import { findDeployment } from "../service/deployment.ts";

/** They show or remove a login: what is for a new one would do nothing. */
const WITHOUT_NEW_LOGIN = ["status", "logout"];

export default class Login extends NodeCommand<LoginResult> {
  static override description =
    "Log in to a provider with a subscription, in place of an API key, or to an MCP server\n\n" +
    "Opens the login's page in the browser and waits for its answer on a port of this machine; with --no-browser the address " +
    "that the browser ended at, on whichever machine, is pasted. The tokens are kept in the home directory and are never shown. Of " +
    "a deployed stack, they go to the home directory of a node, over its own interface: each node has a login of its own. The " +
    "client id of an application of your own has to stand in cairn.yaml: providers.<id>.login.client_id. An MCP server is named " +
    "as mcp.<id>; it says itself where its logins are, and most register this program by themselves.";

  static override examples = [
    "<%= config.bin %> login",
    "<%= config.bin %> login anthropic --no-browser",
    "<%= config.bin %> login mcp.github",
    "<%= config.bin %> login --node worker",
    "<%= config.bin %> login --status --json",
    "<%= config.bin %> login --logout",
  ];

  static override args = {
    provider: Args.string({
      ignoreStdin: true,
      description: "Provider of cairn.yaml, or mcp.<id> (default: the provider with a subscription login)",
    }),
  };

  static override flags = {
    status: Flags.boolean({
      exclusive: ["logout"],
      description: "Show whether there is a login; exit code 1 when there is none",
    }),
    logout: Flags.boolean({ description: "Remove the tokens" }),
    browser: Flags.boolean({
      default: true,
      allowNo: true,
      exclusive: WITHOUT_NEW_LOGIN,
      description: "Open the page; --no-browser: paste the answer",
    }),
    "code-stdin": Flags.boolean({
      exclusive: WITHOUT_NEW_LOGIN,
      description: "Read the pasted answer from standard input instead of asking",
    }),
    "client-id": Flags.string({
      exclusive: WITHOUT_NEW_LOGIN,
      helpValue: "ID",
      description: "Write this client id into cairn.yaml first",
    }),
    port: Flags.integer({
      exclusive: WITHOUT_NEW_LOGIN,
      default: 0,
      min: 0,
      max: 65_535,
      helpValue: "PORT",
      description: "Port of 127.0.0.1 that the browser comes back to (default: a free one)",
    }),
    timeout: Flags.integer({
      exclusive: WITHOUT_NEW_LOGIN,
      default: 300,
      min: 1,
      helpValue: "SECONDS",
      description: "How long to wait for the answer of the login's page",
    }),
  };

  protected async work({ signal }: Interruption): Promise<LoginResult> {
    const { args, flags } = await this.parse(Login);
    const deployment = findDeployment(flags);
    const { port, "client-id": clientId, "code-stdin": fromInput } = flags;
    const found = await loginTarget(deployment, args.provider, signal);
    const stack = await openStack(deployment, signal);
    if (stack === null) await refuseChoice(deployment, flags);
    if (stack !== null && flags.status) {
      return statusOnNodes(stack, chosenMembers(stack, flags.node), found, signal);
    }
    const command = `cairn login ${found.provider}${flags.logout ? " --logout" : ""}`;
    const node = stack === null ? null : { stack, name: onlyMember(stack, flags.node, command) };
    if (flags.status) return loginStatus(found, new Date());
    if (flags.logout) {
      return node === null ? logOut(found, new Date(), signal) : logOutOnNode(node.stack, node.name, found, signal);
    }
    if (clientId !== undefined) await saveClientId(deployment, found, clientId);
    const target = clientId === undefined ? found : await loginTarget(deployment, found.provider, signal);
    const { endpoints, provider, server } = target;
    if (endpoints === null && server === null) throw withoutClientId(provider);
    if (server !== null && target.keyComesFirst) throw withAuthorization(server);

    // Before its first token: a home that no node has made yet has nothing that keeps it from git.
    if (node === null) makeOwnHome(deployment.home, deployment.dir);
    // Before somebody logs in for nothing.
    else await checkNode(node.stack, node.name, target, signal);
    const byHand = fromInput || !flags.browser;
    const find: FindEndpoints = async (redirectUri, during) => {
      if (endpoints !== null) return endpoints;
      if (server === null) throw withoutClientId(provider);
      return (await import("../login/discover.ts")).discoverLogin(server, redirectUri, during);
    };
    const result = await logIn(provider, find, {
      signal,
      deadlineMs: flags.timeout * 1_000,
      port,
      paste: fromInput ? readAnswer : byHand ? askForAnswer(this.terminal) : null,
      keep: (tokens, used, during) =>
        node === null
          ? keepHere(target, used, tokens, { now: new Date(), signal: during })
          : keepOnNode(node.stack, node.name, { target, endpoints: used }, tokens, during),
      show: (url) => this.#show(url, byHand, signal),
    });
    // It notices a login by itself, but not a change of its configuration.
    if (clientId !== undefined) await this.note("A running node takes the client id at its next `cairn restart`.\n");
    return result;
  }

  async #show(url: string, byHand: boolean, signal: AbortSignal): Promise<void> {
    const command = byHand ? null : browserCommand(process.platform, process.env);
    if (command !== null && (await openBrowser(url, command, signal))) {
      await this.note(`The browser shows the login. If it does not, open this address:\n\n${url}\n`);
    } else {
      await this.note(`Open this address in a browser:\n\n${url}\n`);
    }
  }

  protected override exitCodeOf({ action, logged_in }: LoginResult): number {
    return action === "status" && !logged_in ? EXIT.failed : EXIT.done;
  }

  protected render(result: LoginResult, mark: Mark): string {
    return loginText(result, mark);
  }
}
