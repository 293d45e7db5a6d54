import { runFake } from "../shared/main.ts";
import { startTextFake } from "./index.ts";

await runFake(startTextFake);
