import { runFake } from "../shared/main.ts";
import { startAnthropicFake } from "./index.ts";

await runFake(startAnthropicFake);
