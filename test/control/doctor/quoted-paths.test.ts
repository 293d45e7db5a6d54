import { expect, it } from "vitest";
import { secretsFile } from "../../../control/doctor/checks/secrets/file.ts";
import { probeContextWith } from "./probe-context.ts";

it("a hint has a path with a space as one word of the shell", async () => {
  const found = { exists: true, path: "/srv/my home/.env", mode: 0o644, owners: [1000], problem: null, values: {} };
  const context = await probeContextWith({ machine: { uid: 1000 }, seen: { secretsFile: async () => found } });
  expect(await secretsFile.run(context, new AbortController().signal)).toMatchObject({
    status: "warn",
    fix: expect.stringContaining("`chmod 600 '/srv/my home/.env'`"),
  });
});
