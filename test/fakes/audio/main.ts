import { parseArgs } from "node:util";
import { startAudioFake } from "./index.ts";

const { values } = parseArgs({ options: { port: { type: "string" }, "api-key": { type: "string" } } });
const apiKey = values["api-key"];
const { baseUrl } = await startAudioFake({
  port: Number(values.port ?? 0),
  ...(apiKey === undefined ? {} : { apiKey }),
});
process.stdout.write(`${JSON.stringify({ baseUrl, pid: process.pid })}\n`);
