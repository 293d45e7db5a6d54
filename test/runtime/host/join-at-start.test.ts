/** What a node says that was to join at its start and has not: what happened, and what to type. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { readJoinFile, writeJoinFile } from "../../../runtime/files/join-file.ts";
import { joinAtStart } from "../../../runtime/host/join-at-start.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

async function failing(error: Error) {
  const path = join(await temporaryDirectory(), "join.json");
  await writeJoinFile(path, { token: "cairn-join-x", url: null });
  const said = await joinAtStart(path, () => Promise.reject(error), quietLogger);
  return { said, kept: (await readJoinFile(path)) !== null };
}

it("says that the next start tries again where the other node was not reached, and how to join before it", async () => {
  const { said, kept } = await failing(new RuntimeError("RUNTIME_NOT_RUNNING", "No node answers."));
  expect(said).toBe(
    "this node could not join: No node answers. The next start tries again; " +
      "`cairn mesh join HOST --token-file FILE` joins while the node runs.",
  );
  expect(kept).toBe(true);
});

it("says what to do about a token that is refused, which no start tries again", async () => {
  const hint = "`cairn mesh token` there makes another one.";
  const { said, kept } = await failing(new RuntimeError("RUNTIME_UNAUTHORIZED", "It is not valid.", { hint }));
  expect(said).toContain(`It is not valid. ${hint} \`cairn mesh join HOST --token-file FILE\``);
  expect(said).not.toContain("tries again");
  expect(kept).toBe(false);
});
