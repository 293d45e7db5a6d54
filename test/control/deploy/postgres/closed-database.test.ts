/** The door to a database whose host falls silent: the way to its container is played by a shell that does not end. */

import { describe, expect, it } from "vitest";
import { closeDatabase, openDatabase } from "../../../../control/deploy/postgres/closed-database.ts";
import type { Server } from "../../../../control/deploy/postgres/programs.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const signal = new AbortController().signal;

function server(line: string): Server {
  return {
    name: "lab-postgres",
    port: 5432,
    command: async () => ({ program: "sh", args: ["-c", line], close: async () => undefined }),
    failure: (words, what) => new InfraError("INFRA_FAILED", `\`${what}\` failed: ${words}`),
  };
}

describe("a database that is closed to nodes", () => {
  it("is left to itself where its host no longer says that it was opened", async () => {
    const door = await closeDatabase(server("echo closed; sleep 3600; echo open"), signal, 50);
    expect(door.closed()).toBe(true);
    await door.open();
    expect(door.closed()).toBe(false);
  });

  it("is not waited for any more where that is stopped", async () => {
    const stopping = new AbortController();
    const closing = closeDatabase(server("sleep 3600; echo closed"), stopping.signal);
    setImmediate(() => stopping.abort(new Error("stopped")));
    await expect(closing).rejects.toThrow("stopped");
  });

  it("is said not to answer where it cannot be opened", async () => {
    await expect(openDatabase(server("exec sleep 3600"), signal, 50)).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "lab-postgres did not answer in time.",
    });
  });
});
