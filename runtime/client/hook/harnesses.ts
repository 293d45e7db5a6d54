/** The names and places of the harnesses, for the command line. */

export { HARNESSES, type Harness } from "../../domain/harnesses/event.ts";
export { type HarnessPaths, harnessPaths } from "../../domain/harnesses/paths.ts";
