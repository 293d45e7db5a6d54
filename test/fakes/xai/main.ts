import { runFake } from "../shared/main.ts";
import { startXaiFake } from "./index.ts";

await runFake(startXaiFake);
