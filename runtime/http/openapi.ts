/** /openapi.json, made from the routes' own schemas: what is validated is what is described. */

import swagger from "@fastify/swagger";
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from "fastify-type-provider-zod";
import { z } from "zod";
import type { Server } from "./deps.ts";
import { errorSchema, openAiErrorSchema, usualFailures } from "./schemas.ts";

const TAGS = [
  { name: "health", description: "Liveness, readiness, status, metrics" },
  { name: "agents", description: "Messages, turns and commands" },
  { name: "openai", description: "The routes that OpenAI's clients use; a model is an agent" },
  { name: "memory", description: "The memory tools" },
  { name: "channels", description: "For chat platforms, which prove themselves by a secret of their channel" },
  { name: "mesh", description: "The nodes of the mesh" },
  { name: "admin", description: "Draining, backup, tokens" },
];

/** To be called before any route is added. */
export function installOpenApi(server: Server, version: string): void {
  // Every route gets the failures of its kind; a route names only what is its own.
  server.addHook("onRoute", (route) => {
    if (!route.schema || route.schema.hide) return;
    const access = route.config?.access ?? "admin";
    const named = route.schema.response;
    route.schema = {
      ...route.schema,
      security: access === "public" ? [] : [{ bearer: [] }],
      response: {
        ...usualFailures(route.url, access, route.method === "POST"),
        ...(typeof named === "object" ? named : {}),
      },
    };
  });
  const schemaRegistry = z.registry<{ id?: string }>();
  schemaRegistry.add(errorSchema, { id: "Error" });
  schemaRegistry.add(openAiErrorSchema, { id: "OpenAiError" });
  server.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Cairn",
        description: "Agents that remember, over HTTP.",
        version,
        license: { name: "Apache-2.0" },
      },
      tags: TAGS,
      components: {
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "SERVICE_API_TOKEN, or a token of `cairn token create`.",
          },
        },
      },
    },
    transform: createJsonSchemaTransform({ schemaRegistry }),
    transformObject: createJsonSchemaTransformObject({ schemaRegistry }),
  });
}

export function registerOpenApi(server: Server): void {
  server.get("/openapi.json", { config: { access: "public" }, schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").serializer(JSON.stringify).send(server.swagger()),
  );
}
