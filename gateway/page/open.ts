// The page on the gateway's server: its files, what it asks for, and what it is sent.
import type { FastifyInstance } from "fastify";
import { pageFolder } from "../../config/assets.ts";
import type { MustBeAdmin } from "../access.ts";
import { createMayLook } from "./access.ts";
import { addFiles, readFiles } from "./files.ts";
import { addLive } from "./live.ts";
import { addPageRoutes, type PageDependencies } from "./routes.ts";

export function addPage(
  server: FastifyInstance,
  { mustBeAdmin, ...parts }: Omit<PageDependencies, "mayLook"> & { mustBeAdmin: MustBeAdmin },
): void {
  const looking = { mayLook: createMayLook(mustBeAdmin), ...parts };
  addPageRoutes(server, looking);
  addLive(server, looking);
  addFiles(server, readFiles(pageFolder()));
}
