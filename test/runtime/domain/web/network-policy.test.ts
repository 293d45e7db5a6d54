import { describe, expect, it } from "vitest";
import { hostOf, isAllowedHost, networkPolicy } from "../../../../runtime/domain/web/network-policy.ts";
import { webAddress } from "../../../../runtime/domain/web/web-address.ts";

const REFUSED: readonly (readonly [string, string])[] = [
  ["loopback", "127.0.0.1"],
  ["loopback, not its first", "127.8.9.10"],
  ["private, 10/8", "10.0.0.1"],
  ["private, 172.16/12", "172.31.255.255"],
  ["private, 192.168/16", "192.168.1.1"],
  ["link-local with the metadata service", "169.254.169.254"],
  ["carrier-grade NAT", "100.64.0.1"],
  ["the host's service on Azure", "168.63.129.16"],
  ["carrier-grade NAT, metadata of Alibaba", "100.100.100.200"],
  ["unspecified", "0.0.0.0"],
  ["this network", "0.1.2.3"],
  ["broadcast", "255.255.255.255"],
  ["multicast", "224.0.0.1"],
  ["reserved", "240.0.0.1"],
  ["documentation", "203.0.113.1"],
  ["benchmarks", "198.18.0.1"],
  ["protocol assignments", "192.0.0.192"],
  ["relay of 6to4", "192.88.99.1"],
  ["loopback of IPv6", "::1"],
  ["unspecified of IPv6", "::"],
  ["link-local of IPv6", "fe80::1"],
  ["link-local with its interface", "fe80::1%eth0"],
  ["site-local", "fec0::1"],
  ["unique local", "fd00:ec2::254"],
  ["multicast of IPv6", "ff02::1"],
  ["IPv4 mapped", "::ffff:127.0.0.1"],
  ["public IPv4 mapped", "::ffff:8.8.8.8"],
  ["IPv4 compatible", "::127.0.0.1"],
  ["IPv4 translated", "::ffff:0:127.0.0.1"],
  ["6to4", "2002:7f00:1::1"],
  ["Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  ["NAT64", "64:ff9b::7f00:1"],
  ["NAT64 for one's own use", "64:ff9b:1::a00:1"],
  ["discard", "100::1"],
  ["documentation of IPv6", "2001:db8::1"],
  ["the newer documentation of IPv6", "3fff::1"],
  ["segment routing", "5f00::1"],
  ["port control protocol", "2001:1::1"],
];

describe("the policy of the web tools", () => {
  const policy = networkPolicy({ allow: [], ownNetworks: [] });

  it.each(REFUSED)("refuses %s: %s", (_, address) => {
    expect(policy.refusal("host.example", address)).toMatch(/^(?:this machine|a |the local link)/);
  });

  it.each(["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"])(
    "lets %s pass",
    (address) => {
      expect(policy.refusal("host.example", address)).toBeNull();
    },
  );

  it("lets pass what the owner allows: names, addresses and ranges", () => {
    const own = networkPolicy({ allow: ["Wiki.Lan.", "10.1.0.0/16", "[fd00::5]", "192.168.1.7"], ownNetworks: [] });
    expect(own.refusal("wiki.lan", "192.168.1.9")).toBeNull();
    expect(own.refusal("other.lan", "192.168.1.9")).toBe("a private network");
    expect(own.refusal("any.example", "10.1.2.3")).toBeNull();
    expect(own.refusal("any.example", "10.2.2.3")).toBe("a private network");
    expect(own.refusal("any.example", "::ffff:10.1.2.3")).not.toBeNull();
    expect(own.refusal("fd00::5", "fd00::5")).toBeNull();
    expect(own.refusal("192.168.1.7", "192.168.1.7")).toBeNull();
  });

  it("refuses public addresses of the networks that the machine is in", () => {
    const inside = networkPolicy({ allow: [], ownNetworks: ["2a02:8071:1::5/64", "fe80::1/64", "8.8.8.9/24"] });
    expect(inside.refusal("printer.example", "2a02:8071:1::77")).toBe("the network that this machine is in");
    expect(inside.refusal("other.example", "2a02:8071:2::77")).toBeNull();
    expect(inside.refusal("dns.google", "8.8.8.8")).toBe("the network that this machine is in");
  });
});

describe("an entry of allow_hosts", () => {
  it.each(["wiki.lan", "searxng", "10.0.0.0/8", "10.0.0.1", "fd00::/8", "::1", "[::1]", "xn--bcher-kva.example"])(
    "may be %s",
    (entry) => {
      expect(isAllowedHost(entry)).toBe(true);
    },
  );

  it.each([
    "http://wiki.lan",
    "wiki.lan:8080",
    "10.0.0.0/33",
    "010.0.0.0/8",
    "10.1/16",
    "10.0.0",
    "*.lan",
    "wiki lan",
    "user@wiki.lan",
    "/",
    "",
  ])("is not %j", (entry) => {
    expect(isAllowedHost(entry)).toBe(false);
  });
});

describe("an address of a page", () => {
  it.each([
    ["http://2130706433/", "127.0.0.1"],
    ["http://0x7f000001/", "127.0.0.1"],
    ["http://0177.0.0.1/", "127.0.0.1"],
    ["http://0x7f.1/", "127.0.0.1"],
    ["http://127.1/", "127.0.0.1"],
    ["http://127.0.0.1./", "127.0.0.1"],
    ["http://①②⑦.0.0.1/", "127.0.0.1"],
    ["http://0/", "0.0.0.0"],
    ["http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"],
    ["http://[0:0:0:0:0:0:0:1]/", "::1"],
    ["http://LOCALHOST./", "localhost"],
    ["http:\\\\127.0.0.1\\x", "127.0.0.1"],
  ])("%s is of the host %s, however it is written", (text, host) => {
    const { url } = webAddress(text);
    expect(url && hostOf(url)).toBe(host);
  });

  it.each([
    ["file:///etc/passwd", /neither an http/],
    ["ftp://example.org/", /neither an http/],
    ["gopher://127.0.0.1:70/_x", /neither an http/],
    ["data:text/html,x", /neither an http/],
    ["//example.org/x", /is no address/],
    ["example.org", /is no address/],
    ["https://user:secret@example.org/", /password/],
    ["https://good.example@127.0.0.1/", /password/],
    ["http://example.org:25/", /port 25/],
    ["http://example.org:6667/", /port 6667/],
    [`https://example.org/${"x".repeat(9_000)}`, /8192/],
  ])("%s is refused", (text, reason) => {
    expect(webAddress(text).refusal).toMatch(reason);
  });

  it("has no fragment, and may be relative to another", () => {
    expect(webAddress("../a?b#c", new URL("https://example.org/x/y")).url?.href).toBe("https://example.org/a?b");
  });
});
