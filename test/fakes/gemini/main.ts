import { runFake } from "../shared/main.ts";
import { startGeminiFake } from "./index.ts";

await runFake(startGeminiFake);
