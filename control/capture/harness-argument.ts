/** The argument of the commands that are about one coding assistant. */

import { Args } from "@oclif/core";
import { UsageError } from "../output/failure.ts";
import { HARNESSES, type Harness } from "./harnesses.ts";

export const harnessArgument = Args.custom<Harness>({
  ignoreStdin: true,
  options: [...HARNESSES],
  description: "The coding assistant",
  async parse(given) {
    const harness = HARNESSES.find((name) => name === given);
    if (harness === undefined) throw new UsageError(`${given} is not known.`, `Name one of ${HARNESSES.join(", ")}.`);
    return harness;
  },
});
