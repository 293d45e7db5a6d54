/** `mesh` and `telemetry`. */
import { dnsLabel, duration, flag, list, section, text } from "./scalars.ts";

const ADDRESS = "an address such as node-2.example.org:7433 or https://node-2.example.org:7433";
/** Of a node, as other nodes reach it. */
export const address = () => text(ADDRESS).refine(isAddress, { error: ADDRESS });

export const meshSection = section({
  enabled: flag().prefault(false).describe("Be part of a fleet that delegates tasks."),
  name: dnsLabel("a node's name").describe("This node's name; the host's name when absent.").meta({ derived: true }),
  advertise: address().optional().describe("Address under which other nodes reach this one."),
  seeds: list(address())
    .default([])
    .describe(
      "Addresses of members that are asked in every round, also when none is known to live. They let nobody in.",
    ),
  mdns: flag()
    .prefault(false)
    .describe("Say on the local network where this node is, and find the addresses of members there."),
  heartbeat: duration({ min: 1_000, max: 3_600_000 })
    .prefault("15s")
    .describe(
      "How often members exchange. One that is not heard three times is suspect, six times offline; the same everywhere.",
    ),
});

export const telemetrySection = section({
  otlp: flag()
    .prefault(false)
    .describe("Send traces and metrics as the standard OTEL_* variables say. No other telemetry exists."),
});

function isAddress(value: string): boolean {
  const parsed = URL.parse(/^https?:\/\//.test(value) ? value : `https://${value}`);
  return (
    parsed !== null && parsed.hostname !== "" && parsed.username === "" && parsed.search === "" && parsed.hash === ""
  );
}
