/** The routes about the service itself. */
import { openApiDocument } from '../../../lib/api/openapi.ts';
import { routes } from '../../../lib/api/routes.ts';
import { jsonObject } from '../../../lib/api/schemas/parts.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';

/** The document changes with a deployment only; five minutes bound how long a reader sees the old one. */
const openApiHeaders = { 'cache-control': 'public, max-age=300' };

export const healthOperations = ({ decider }: Tools): Pick<Operations<'api'>, 'getHealth'> => ({
  getHealth: async () => ({ status: 200, body: { healthy: true, timestamp: iso(decider.deps.clock.now()) } }),
});

export const openApiOperations = (): Pick<Operations<'library'>, 'getOpenApi'> => {
  let document: JsonObject | undefined;
  return {
    getOpenApi: async () => {
      // Made when it is first asked for: a cold start of any other route does not pay for it.
      document ??= jsonObject.parse(JSON.parse(JSON.stringify(openApiDocument(routes))));
      return { status: 200, body: document, headers: openApiHeaders };
    },
  };
};
