/** Client calls for stored queries: `client.queries`. */
import { type CallOptions, sendRequest } from './send-request.ts';
import type { ClientConfig } from './options.ts';
import { iterateRows } from './pagination.ts';
import { type ResponseBody, type RequestBody, type RequestQuery, routeOf } from './route-types.ts';

const createQuery = routeOf('createQuery');
const listQueries = routeOf('listQueries');
const getQuery = routeOf('getQuery');
const publishQueryVersion = routeOf('publishQueryVersion');
const archiveQuery = routeOf('archiveQuery');

export class QueryCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Publishes version 1 of a new query. */
  create(body: RequestBody<'createQuery'>, options?: CallOptions): Promise<ResponseBody<'createQuery'>> {
    return sendRequest(this.#config, createQuery, createQuery.responses[201].schema, { body }, options);
  }

  publish(
    name: string,
    body: RequestBody<'publishQueryVersion'>,
    options?: CallOptions,
  ): Promise<ResponseBody<'publishQueryVersion'>> {
    return sendRequest(
      this.#config,
      publishQueryVersion,
      publishQueryVersion.responses[201].schema,
      { params: { name }, body },
      options,
    );
  }

  list(query: RequestQuery<'listQueries'> = {}, options?: CallOptions): Promise<ResponseBody<'listQueries'>> {
    return sendRequest(this.#config, listQueries, listQueries.responses[200].schema, { query }, options);
  }

  /** Every query, page by page. */
  each(
    query: RequestQuery<'listQueries'> = {},
    options?: CallOptions,
  ): AsyncGenerator<ResponseBody<'listQueries'>['data'][number], void, undefined> {
    return iterateRows((from) => this.list({ ...query, ...from }, options));
  }

  get(name: string, query: RequestQuery<'getQuery'> = {}, options?: CallOptions): Promise<ResponseBody<'getQuery'>> {
    return sendRequest(this.#config, getQuery, getQuery.responses[200].schema, { params: { name }, query }, options);
  }

  archive(name: string, options?: CallOptions): Promise<ResponseBody<'archiveQuery'>> {
    return sendRequest(this.#config, archiveQuery, archiveQuery.responses[200].schema, { params: { name } }, options);
  }
}
