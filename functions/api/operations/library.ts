/** All operations of the library function, and its small one: the OpenAPI document. */
import { openApiDocument } from '../../../lib/api/openapi.ts';
import { routes } from '../../../lib/api/routes.ts';
import { jsonObject } from '../../../lib/api/schemas/parts.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { Operations, Served } from '../operation.ts';
import { auditOperations } from './audit.ts';
import { embedOperations } from './embeds.ts';
import { keyOperations } from './keys.ts';
import { lensOperations } from './lenses.ts';
import { type InstallationTools, installationOperations } from './installation.ts';
import { type SignInTools, sessionOperations } from './sessions.ts';

import { queryOperations } from './queries.ts';
import { scheduleOperations } from './schedules.ts';

export type LibraryTools = SignInTools & InstallationTools;

/** The document changes with a deployment only. Clients may cache it for five minutes. */
const openApiHeaders = { 'cache-control': 'public, max-age=300' };

let document: JsonObject | undefined;

const libraryOperations: Operations<'library', LibraryTools> = {
  ...lensOperations,
  ...queryOperations,
  ...scheduleOperations,
  ...keyOperations,
  ...auditOperations,
  ...sessionOperations,
  ...embedOperations,
  ...installationOperations,

  async getOpenApi(_tools) {
    // Created on first use, so that it does not slow down cold starts for other routes.
    document ??= jsonObject.parse(JSON.parse(JSON.stringify(openApiDocument(routes))));
    return { status: 200, body: document, headers: openApiHeaders };
  },
};

export const servedByLibrary: Served<'library', LibraryTools> = { routes, operations: libraryOperations };
