/** Facts of a Proxmox host, and what is found to be wrong with them. */

import { describe, expect, it } from "vitest";
import { findingsOf, parseFacts } from "../../../../../control/deploy/drivers/proxmox/preflight.ts";
import { allCts } from "../../../../../infra/components/proxmox/ct.ts";
import { proxmoxPlan } from "../../../../support/proxmox/mocks.ts";

const GOOD = [
  "pct yes",
  "storage 490000000",
  "template yes",
  "bridge yes",
  "data 9000000",
  "ct 700 free",
  "ct 701 ours",
].join("\n");

function codes(facts: string): string[] {
  const plan = proxmoxPlan();
  return findingsOf(plan, "pve", allCts(plan), parseFacts(facts)).map(({ severity, code }) => `${severity} ${code}`);
}

describe("preflight", () => {
  it("finds nothing wrong with a host that has all", () => expect(codes(GOOD)).toEqual([]));

  it.each([
    ["pct no", "pct no", ["error INFRA_TOOL_MISSING"]],
    ["a storage that is not there", GOOD.replace("storage 490000000", "storage "), ["error INFRA_FAILED"]],
    ["a small storage", GOOD.replace("490000000", "1000"), ["warning INFRA_DISK_FULL"]],
    ["no template for a new CT", GOOD.replace("template yes", "template no"), ["error INFRA_IMAGE_MISSING"]],
    ["no bridge", GOOD.replace("bridge yes", "bridge no"), ["error INFRA_FAILED"]],
    ["a full disk", GOOD.replace("data 9000000", "data 12"), ["error INFRA_DISK_FULL"]],
    ["a number of somebody else", GOOD.replace("ct 700 free", "ct 700 other"), ["error INFRA_UP_REFUSED"]],
    ["a CT on another member", `${GOOD}\nelsewhere 701 pve2`, ["error INFRA_DATA_EXISTS"]],
    ["nothing at all", "", ["error INFRA_TOOL_MISSING"]],
  ])("finds %s", (_what, facts, found) => expect(codes(facts)).toEqual(found));

  it("needs no template for CTs that are there", () => {
    const facts = GOOD.replace("template yes", "template no").replace("ct 700 free", "ct 700 ours");
    expect(codes(facts)).toEqual([]);
  });
});
