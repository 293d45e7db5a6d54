import { runFake } from "../shared/main.ts";
import { startOllamaFake } from "./index.ts";

await runFake((options) => startOllamaFake(["fake"], options));
