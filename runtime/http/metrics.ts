/** The process's metrics, and what the server itself counts. */

import { Histogram, type Registry } from "prom-client";
import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { oneOf } from "./schemas.ts";

const REQUESTS = "cairn_http_request_duration_seconds";

export function installRequestMetrics(server: Server, registry: Registry): void {
  const requests = new Histogram({
    name: REQUESTS,
    help: "Time from request to the end of its answer; event streams last as long as their turn.",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30, 120],
    registers: [registry],
  });
  server.addHook("onResponse", (request, reply, done) => {
    // The pattern, never the path: a path holds ids, and there is no end to them.
    const route = request.routeOptions.url ?? "unknown";
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    requests.observe(labels, reply.elapsedTime / 1000);
    done();
  });
  server.addHook("onClose", async () => registry.removeSingleMetric(REQUESTS));
}

export function registerMetrics(server: Server, { metrics }: RouteDeps): void {
  server.get(
    "/metrics",
    {
      config: { access: "token" },
      schema: {
        tags: ["health"],
        summary: "Metrics as Prometheus text, or as JSON with `Accept: application/json`",
        response: {
          200: oneOf("The metrics", {
            "text/plain": z.string(),
            "application/json": z.array(z.record(z.string(), z.unknown())),
          }),
        },
      },
    },
    async (request, reply) => {
      const accept = request.headers.accept ?? "";
      if (accept.includes("application/json")) {
        // The library's own rows; described as plain objects.
        const rows = (await metrics.getMetricsAsJSON()) as unknown as Record<string, unknown>[];
        return reply.type("application/json; charset=utf-8").send(rows);
      }
      return reply
        .type(metrics.contentType)
        .serializer(String)
        .send(await metrics.metrics());
    },
  );
}
