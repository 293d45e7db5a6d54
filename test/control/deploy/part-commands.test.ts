/** Words of Docker's command line for a part. */

import { expect, it } from "vitest";
import { dockerWords } from "../../../control/deploy/part-commands.ts";

const LOGS = { kind: "logs", lines: null, follow: false } as const;

it.each([
  ["a length of time stays one: Docker's command line reckons it where it runs", { agoSeconds: 600 }, "600s"],
  ["a moment is the same everywhere", new Date("2030-01-31T12:00:00Z"), "2030-01-31T12:00:00.000Z"],
])("--since: %s", (_words, since, expected) => {
  expect(dockerWords("fleet-alpha", { ...LOGS, since })).toEqual(["logs", `--since=${expected}`, "fleet-alpha"]);
});
