import { Args, Flags } from "@oclif/core";
import type { WikiList, WikiPage } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { defaultAgent, withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

/** The list of the pages, or one of them. */
export type WikiResult = WikiList | WikiPage;

export default class MemoryWiki extends NodeCommand<WikiResult> {
  static override description =
    "List the pages of an agent's wiki, or show one\n\n" +
    "The pages are files in the folder `wiki` of the agent's workspace, written from summaries where memory.wiki.enabled is true.";

  static override examples = [
    "<%= config.bin %> memory wiki",
    "<%= config.bin %> memory wiki 'The deployment' --agent researcher",
  ];

  static override args = {
    page: Args.string({ ignoreStdin: true, description: "Name or title of a page (default: the list)" }),
  };

  static override flags = {
    agent: Flags.string({
      char: "a",
      helpValue: "NAME",
      description: "Name of the agent (default: the configured default agent)",
    }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<WikiResult> {
    const { args, flags } = await this.parse(MemoryWiki);
    const deployment = findDeployment(flags);
    return withNode(
      deployment,
      signal,
      async (client): Promise<WikiResult> => {
        const agent = flags.agent ?? (await defaultAgent(deployment, client));
        return args.page === undefined ? client.wiki(agent, { signal }) : client.wikiPage(agent, args.page, { signal });
      },
      { node: flags.node },
    );
  }

  protected render(result: WikiResult, mark: Mark): string {
    if ("text" in result) return visible(result.text.trimEnd());
    const { agent, enabled, pages } = result;
    if (pages.length === 0) {
      const why = enabled ? "" : " memory.wiki.enabled is false in cairn.yaml.";
      return `The wiki of ${visible(agent)} has no pages yet.${why}`;
    }
    const rows = pages.map(({ slug, title, statements, updated }) => [
      slug,
      `${statements}`,
      updated.slice(0, 10),
      visible(title),
    ]);
    const [head = "", ...lines] = columns([["PAGE", "STATEMENTS", "UPDATED", "TITLE"], ...rows]).split("\n");
    return [mark.dim(head), ...lines].join("\n");
  }
}
