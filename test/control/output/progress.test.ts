import { expect, it } from "vitest";
import { startProgress } from "../../../control/output/progress.ts";
import type { Terminal } from "../../../control/output/terminal.ts";

it("says each step where lines are plain, and of a count only now and then", async () => {
  let now = 0;
  const said: string[] = [];
  // What progress asks of a terminal.
  const terminal = {
    errIsTerminal: false,
    err: async (text: string) => void said.push(text),
  } as Partial<Terminal> as Terminal;
  const progress = startProgress(terminal, () => now);
  progress.step("Trying the configuration");
  progress.step("Restarting the node");
  progress.step("Restarting the node");
  progress.update("1 MB");
  now = 10_000;
  progress.update("2 MB");
  await progress.end();
  expect(said).toEqual(["Trying the configuration\n", "Restarting the node\n", "2 MB\n"]);
});
