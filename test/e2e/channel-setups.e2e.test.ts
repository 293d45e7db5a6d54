/**
 * From an empty home to the first answer: each channel is set up on a real terminal, as docs/channels-setup.md shows it.
 * UPDATE_PAGES=1 writes what was shown into the page.
 */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { freePort } from "../support/ports.ts";
import { CHANNEL_SETUPS, OWNER_TOKEN } from "../support/terminal/channel-setups.ts";
import { drawnRows } from "../support/terminal/drawn.ts";
import { createMachine, ENTER, follow } from "../support/terminal/setup-session.ts";
import { WRITE } from "../support/terminal/targets.ts";
import { ROWS } from "../support/terminal/terminal.ts";

const PAGE = fileURLToPath(new URL("../../docs/channels-setup.md", import.meta.url));
const COLUMNS = 100;

describe.skipIf(lacks("pseudo-terminal"))("the page of setups", () => {
  it.each(Object.entries(CHANNEL_SETUPS))("shows what one sees of %s", async (name, create) => {
    const setup = await create();
    const machine = await createMachine();
    const port = await freePort();
    const session = machine.open(["init", ...setup.argv], { columns: COLUMNS });
    await follow(session, [
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", `127.0.0.1:${port}${ENTER}`],
      ["Time zone", `UTC${ENTER}`],
      ["Names of the agents", ENTER],
      ["Language model provider", ENTER],
      ...setup.script,
      ...WRITE,
      ["Start it now?", ENTER],
      ["The node is ready.", ""],
      ["quit: the node ends, too", ""],
    ]);
    const rows = await drawnRows(session.written(), { columns: COLUMNS, rows: ROWS });
    const conversation = await setup.talk(`http://127.0.0.1:${port}`);
    session.type("q");
    expect(await session.ended).toBe(0);

    const screen = setup.shown(rows.join("\n")).replaceAll(machine.dir, "~/.cairn").replaceAll(`:${port}`, ":7433");
    expect(screen).not.toContain(OWNER_TOKEN);
    const asked = screen.slice(screen.indexOf("Keys and channels"), screen.indexOf("Review ("));
    const shown = `$ cairn init\n...\n${asked.trimEnd()}\n...\nThe node is ready.\n\n${conversation.join("\n")}\n`;
    const page = await readFile(PAGE, "utf8");
    const block = new RegExp(`(?<=## ${name}\\n[^#]*\`\`\`text\\n)[^\`]*(?=\`\`\`)`);
    if (process.env["UPDATE_PAGES"] === "1")
      await writeFile(
        PAGE,
        page.replace(block, () => shown.replaceAll("`", "'")),
      );
    else expect(block.exec(page)?.[0]).toBe(shown.replaceAll("`", "'"));
  });
});
