import { type FakeOptions, type FakeServer, startFake } from "../shared/server.ts";
import { geminiWire } from "./wire.ts";

/** The Gemini API on loopback; shared/directives.ts says what it does without a script. */
export function startGeminiFake(options?: FakeOptions): Promise<FakeServer> {
  return startFake(geminiWire, options);
}
