/** Client calls for what workflows use by name: lenses (`client.lenses`) and stored queries (`client.queries`). */
import { type CallOptions, sendRequest } from './send-request.ts';
import type { ClientConfig } from './options.ts';
import { iterateRows } from './pagination.ts';
import { type ResponseBody, type RequestBody, type RequestQuery, routeOf } from './route-types.ts';

const createLens = routeOf('createLens');
const listLenses = routeOf('listLenses');
const getLens = routeOf('getLens');
const publishLens = routeOf('publishLens');
const archiveLens = routeOf('archiveLens');

type LensSummary = ResponseBody<'listLenses'>['data'][number];

export class LensCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Publishes version 1 of a new lens. */
  create(body: RequestBody<'createLens'>, options?: CallOptions): Promise<ResponseBody<'createLens'>> {
    return sendRequest(this.#config, createLens, createLens.responses[201].schema, { body }, options);
  }

  /** Publishes the next version. */
  publish(name: string, body: RequestBody<'publishLens'>, options?: CallOptions): Promise<ResponseBody<'publishLens'>> {
    return sendRequest(this.#config, publishLens, publishLens.responses[201].schema, { params: { name }, body }, options);
  }

  get(name: string, query: RequestQuery<'getLens'> = {}, options?: CallOptions): Promise<ResponseBody<'getLens'>> {
    return sendRequest(this.#config, getLens, getLens.responses[200].schema, { params: { name }, query }, options);
  }

  /** One page. */
  list(query: RequestQuery<'listLenses'> = {}, options?: CallOptions): Promise<ResponseBody<'listLenses'>> {
    return sendRequest(this.#config, listLenses, listLenses.responses[200].schema, { query }, options);
  }

  /** Every lens, page by page. */
  each(query: RequestQuery<'listLenses'> = {}, options?: CallOptions): AsyncGenerator<LensSummary, void, undefined> {
    return iterateRows((from) => this.list({ ...query, ...from }, options));
  }

  archive(name: string, options?: CallOptions): Promise<ResponseBody<'archiveLens'>> {
    return sendRequest(this.#config, archiveLens, archiveLens.responses[200].schema, { params: { name } }, options);
  }
}

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
