/** The commands in Discord's menu: written once, where they are not there as they should be. */

import {
  type APIApplicationCommand,
  ApplicationCommandOptionType,
  type RESTPostAPIApplicationCommandsJSONBody,
} from "discord-api-types/v10";
import type { Logger } from "../../../contracts/ports.ts";
import { COMMAND_USAGE } from "../../../domain/command-line.ts";
import type { Commands, DiscordApi } from "./api.ts";
import { connectionError } from "./errors.ts";

export interface CommandMenu {
  /** Why it could not be written; undefined: it is there. */
  write(application: string, signal: AbortSignal): Promise<string | undefined>;
}

export function createCommandMenu(api: DiscordApi, logger: Logger): CommandMenu {
  let isWritten = false;
  return {
    async write(application, signal) {
      if (isWritten) return undefined;
      try {
        const present = await api.commands(application, signal);
        if (textOf(present) !== textOf(COMMANDS)) await api.setCommands(application, COMMANDS, signal);
        isWritten = true;
        return undefined;
      } catch (error) {
        const { message } = connectionError(error);
        if (!signal.aborted) logger.warn({ reason: message }, "the menu of commands could not be set");
        return `the menu of commands could not be set: ${message}`;
      }
    },
  };
}

/** From `/think [off|low] - show or set the level`: what is in brackets may be missing. */
const COMMANDS: Commands = Object.entries(COMMAND_USAGE).map(([name, usage]) => {
  const [syntax = "", ...about] = usage.split(" - ");
  const wanted = syntax.slice(`/${name} `.length);
  const option = {
    type: ApplicationCommandOptionType.String as const,
    name: "text",
    description: wanted,
    required: !wanted.startsWith("["),
  };
  return { name, description: about.join(" - "), options: wanted === "" ? [] : [option] };
});

/** What of them is ours: Discord adds ids and defaults. */
function textOf(commands: readonly (APIApplicationCommand | RESTPostAPIApplicationCommandsJSONBody)[]): string {
  const all = commands.map((command) => {
    const description = "description" in command ? command.description : "";
    const options = "options" in command ? (command.options ?? []) : [];
    const given = options.map((option) => [option.name, option.description, option.type, option.required ?? false]);
    return [command.name, description, given] as const;
  });
  return JSON.stringify(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
