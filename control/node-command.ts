/** What commands that talk to a node share: which one of a deployed stack it is. */

import { Flags } from "@oclif/core";
import { BaseCommand } from "./base-command.ts";

export abstract class NodeCommand<Result> extends BaseCommand<Result> {
  static override baseFlags = {
    ...BaseCommand.baseFlags,
    node: Flags.string({
      helpValue: "NAME",
      helpGroup: "GLOBAL",
      description: "Node of the deployed stack, and no other one in its place (default: the first that works)",
    }),
  };
}
