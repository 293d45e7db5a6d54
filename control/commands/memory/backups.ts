import { Flags } from "@oclif/core";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { bytes, duration } from "../../output/words.ts";
import { findDeployment } from "../../service/deployment.ts";
import { type ListedBackups, listScheduled } from "../../service/scheduled-backups.ts";

export default class MemoryBackups extends NodeCommand<ListedBackups> {
  static override description =
    "List the scheduled backups, newest first\n\n" +
    "Each is on the disk of the node that took it (memory.backup). `cairn memory backup FILE --from NAME` brings one here. " +
    "The exit code is 1 where --verify finds one that is not whole, or cannot ask a node that may have more.";

  static override examples = ["<%= config.bin %> memory backups", "<%= config.bin %> memory backups --verify --json"];

  static override flags = {
    verify: Flags.boolean({ description: "Let the nodes read each to its end now, however long that takes" }),
  };

  #verify = false;

  protected async work({ signal }: Interruption): Promise<ListedBackups> {
    const { flags } = await this.parse(MemoryBackups);
    this.#verify = flags.verify;
    return listScheduled(findDeployment(flags), signal, { node: flags.node, verify: flags.verify });
  }

  protected override exitCodeOf({ backups, unanswered }: ListedBackups): number {
    const whole = backups.every(({ verified }) => verified) && !(this.#verify && unanswered.length > 0);
    return whole ? EXIT.done : EXIT.failed;
  }

  protected render({ backups, unanswered, next }: ListedBackups, mark: Mark): string {
    const rows = backups.map(({ name, node, age_s: age, bytes: size, verified }) => [
      visible(name),
      visible(node),
      `${duration(age * 1_000)} ago`,
      bytes(size),
      verified ? mark.good("verified") : mark.error("not whole"),
    ]);
    return [
      rows.length > 0
        ? columns(rows)
        : `There is no scheduled backup${unanswered.length > 0 ? " on a node that was asked" : ""}.`,
      ...next.map(({ node, message }) => mark.dim(next.length > 1 ? `${visible(node)}: ${message}` : message)),
      ...unanswered.map(({ node, message }) => `${mark.warn("Not asked:")} ${node} (${visible(message)})`),
    ].join("\n");
  }
}
