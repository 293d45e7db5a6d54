import { runFake } from "../shared/main.ts";
import { startOpenAiFake } from "./index.ts";

await runFake(startOpenAiFake);
