// The page on the gateway's server: its files, what it asks for, and what it is sent.
import type { FastifyInstance } from "fastify";
import { pageFolder } from "../../config/assets.ts";
import type { MustBeAdmin } from "../access.ts";
import { createMayLook } from "./access.ts";
import type { Dashboard } from "./data/port.ts";
import { addFiles, readFiles } from "./files.ts";
import { addLive } from "./live.ts";
import { addPageRoutes } from "./routes.ts";

export function addPage(
  server: FastifyInstance,
  { mustBeAdmin, dashboard }: { mustBeAdmin: MustBeAdmin; dashboard: Dashboard },
): void {
  const looking = { mayLook: createMayLook(mustBeAdmin), dashboard };
  addPageRoutes(server, looking);
  addLive(server, looking);
  addFiles(server, readFiles(pageFolder()));
}
