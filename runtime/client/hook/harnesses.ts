/** The names and places of the harnesses, for the command line. */

export { HARNESSES, type Harness } from "../../domain/sessions/event.ts";
export { type HarnessPlaces, harnessPlaces } from "../../domain/sessions/places.ts";
