import process from "node:process";
import { Args, Flags } from "@oclif/core";
import { makeOwnHome } from "../../runtime/config/home.ts";
import { BaseCommand } from "../base-command.ts";
import { browserCommand, openBrowser } from "../login/browser.ts";
import { type LoginResult, logIn, loginStatus, logOut } from "../login/login.ts";
import { askForAnswer, readAnswer } from "../login/paste.ts";
import { loginText } from "../login/render.ts";
import { loginTarget, saveClientId, withoutClientId } from "../login/target.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";

export default class Login extends BaseCommand<LoginResult> {
  static override description =
    "Log in to a provider with a subscription, in place of an API key\n\n" +
    "Opens the provider's page in the browser and waits for its answer on a port of this machine; with --no-browser the address " +
    "that the browser ended at, on whichever machine, is pasted. The tokens are kept in the home directory and are never shown. The " +
    "client id of an application of your own has to stand in cairn.yaml: providers.<id>.login.client_id.";

  static override examples = [
    "<%= config.bin %> login",
    "<%= config.bin %> login anthropic --no-browser",
    "<%= config.bin %> login --status --json",
    "<%= config.bin %> login --logout",
  ];

  static override args = {
    provider: Args.string({
      ignoreStdin: true,
      description: "Provider of cairn.yaml (default: the one with a subscription login)",
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
      description: "Open the page; --no-browser: paste the answer",
    }),
    "code-stdin": Flags.boolean({ description: "Read the pasted answer from standard input instead of asking" }),
    "client-id": Flags.string({ helpValue: "ID", description: "Write this client id into cairn.yaml first" }),
    port: Flags.integer({
      default: 0,
      min: 0,
      max: 65_535,
      helpValue: "PORT",
      description: "Port of 127.0.0.1 that the browser comes back to (default: a free one)",
    }),
    timeout: Flags.integer({
      default: 300,
      min: 1,
      helpValue: "SECONDS",
      description: "How long to wait until the login is done",
    }),
  };

  protected async work({ signal }: Interruption): Promise<LoginResult> {
    const { args, flags } = await this.parse(Login);
    const deployment = findDeployment(flags);
    const found = await loginTarget(deployment, args.provider, signal);
    if (flags.status) return loginStatus(found, new Date());
    if (flags.logout) return logOut(found, new Date(), signal);
    const clientId = flags["client-id"];
    if (clientId !== undefined) await saveClientId(deployment, found.provider, clientId);
    const target = clientId === undefined ? found : await loginTarget(deployment, found.provider, signal);
    if (target.endpoints === null) throw withoutClientId(target.provider);

    // Before its first token: a home that no node has made yet has nothing that keeps it from git.
    makeOwnHome(deployment.home, deployment.dir);
    const fromInput = flags["code-stdin"];
    const byHand = fromInput || !flags.browser;
    const ask = fromInput ? readAnswer : byHand ? askForAnswer(this.terminal) : null;
    return logIn(target, target.endpoints, {
      signal,
      deadlineMs: flags.timeout * 1_000,
      port: flags.port,
      now: () => new Date(),
      paste: ask,
      show: async (url) => {
        const command = byHand ? null : browserCommand(process.platform, process.env);
        if (command !== null && (await openBrowser(url, command, signal))) {
          await this.note(`The browser shows the login. If it does not, open this address:\n\n${url}\n`);
        } else {
          await this.note(`Open this address in a browser:\n\n${url}\n`);
        }
      },
    });
  }

  protected override exitCodeOf({ action, logged_in }: LoginResult): number {
    return action === "status" && !logged_in ? EXIT.failed : EXIT.done;
  }

  protected render(result: LoginResult, mark: Mark): string {
    return loginText(result, mark);
  }
}
