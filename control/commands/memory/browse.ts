import { Flags } from "@oclif/core";
import { type BrowseResult, renderPage, sessionKeyOf } from "../../memory/browse.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MemoryBrowse extends NodeCommand<BrowseResult> {
  static override description =
    "Read what was said in the order of time\n\n" +
    "The newest messages, or with --oldest the first ones; each page is shown from its oldest message to its newest. Where there is more, " +
    "the last line has the --cursor that goes on. With --json they come as the tool `memory_browse` returns them.";

  static override examples = [
    "<%= config.bin %> memory browse --session terminal",
    "<%= config.bin %> memory browse --agent main --window yesterday --limit 200",
    "<%= config.bin %> memory browse --conversation 0199aa10-7c1e-7000-8000-1f2e3d4c5b6a --oldest --json",
  ];

  static override flags = {
    session: Flags.string({
      char: "s",
      helpValue: "NAME",
      exclusive: ["conversation"],
      description: "Only this session, by the name that `cairn sessions` shows, or by its key",
    }),
    conversation: Flags.string({ helpValue: "ID", description: "Only this conversation (`cairn memory sessions`)" }),
    agent: Flags.string({ char: "a", helpValue: "NAME", description: "Only conversations with this agent" }),
    channel: Flags.string({ helpValue: "NAME", description: "Only what came by this channel" }),
    role: Flags.option({
      options: ["user", "assistant", "system", "tool"] as const,
      description: "Only messages of this role",
    })(),
    since: Flags.string({ helpValue: "TIME", description: "From this ISO 8601 date or time on" }),
    before: Flags.string({ helpValue: "TIME", description: "Before this ISO 8601 date or time" }),
    window: Flags.option({
      options: ["today", "yesterday", "this_morning", "this_week", "last_24h", "last_7d", "last_14d"] as const,
      exclusive: ["since", "before"],
      description: "Only this time",
    })(),
    oldest: Flags.boolean({ description: "Begin with the oldest messages, not with the newest" }),
    limit: Flags.integer({ char: "n", min: 1, max: 200, description: "Messages of a page (default: 50)" }),
    cursor: Flags.string({ helpValue: "TEXT", description: "Go on where the page before has ended" }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<BrowseResult> {
    const { flags } = await this.parse(MemoryBrowse);
    const { session, conversation, agent, channel, role, since, before, window, oldest, limit, cursor, node } = flags;
    const order = oldest ? "asc" : undefined;
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => {
        const session_key = session === undefined ? undefined : await sessionKeyOf(client, { session, agent }, signal);
        const given = { conversation_id: conversation, session_key, agent, channel, role, since, before, window };
        const wanted = Object.entries({ ...given, order, limit, cursor }).filter(([, value]) => value !== undefined);
        return client.memoryTool<BrowseResult>("memory_browse", Object.fromEntries(wanted), { signal });
      },
      { node },
    );
  }

  protected render(page: BrowseResult, mark: Mark): string {
    return renderPage(page, mark);
  }
}
