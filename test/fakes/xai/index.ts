import { type FakeOptions, type FakeServer, startFake } from "../shared/server.ts";
import { xaiWire } from "./wire.ts";

/** xAI's chat completions on loopback; shared/directives.ts says what it does without a script. */
export function startXaiFake(options?: FakeOptions): Promise<FakeServer> {
  return startFake(xaiWire, options);
}
