/** The server of the REST API and of the HTTP API. */
import type { RequestListener } from 'node:http';
import { guardedServer } from './guarded-server.ts';
import { isOfHttpApi } from './http-api.ts';
import { type Listening, listen } from './listen.ts';

interface ApiListeners {
  readonly rest: RequestListener | undefined;
  readonly http: RequestListener | undefined;
}

/** One port for the REST API and the HTTP API, which has a path of its own. Undefined where the template has neither. */
export async function openApiServer(
  { rest, http }: ApiListeners,
  configuredOrigins: readonly string[],
  firstPort: number,
): Promise<Listening | undefined> {
  if (rest === undefined && http === undefined) return undefined;
  const listener: RequestListener = (request, response) => {
    const api = http !== undefined && isOfHttpApi(request) ? http : rest;
    if (api === undefined) return void response.writeHead(404).end();
    api(request, response);
  };
  return listen(guardedServer(listener, { origins: () => ({ ports: [], configuredOrigins }) }), firstPort);
}
